// Package wire makes frames of proto/sluice/v1 for the transports that carry
// them: gRPC, and WebSockets with the protobuf subprotocol.
//
// [Columns] and [JSON] are encoders of feeds. What they append for a frame is a
// part of a SubscribeResponse message, so that the parts of several frames, end
// to end, are a message too: a transport gathers shared bytes and never encodes.
package wire
