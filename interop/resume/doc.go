// Package resume has the test of the promise that a subscriber lives by: a stream
// that is cut after any row, and taken up from that row's cursor, on any gateway
// and over any transport, is byte for byte the stream that was never cut. It also
// tries what a gateway says when the cursor is not good any more.
//
// For each row an ordinary run tries some of the pairs of transports. With
// SLUICE_RESUME=all it tries all.
package resume
