// Package grpcfeed serves feeds over gRPC: package sluice.v1 of proto.
//
// [Server.Subscribe] is a loop of three calls: NextBatch of the subscription,
// a message made of the shared bytes of its deliveries, SendMsg. Nothing is
// encoded here and nothing is queued: HTTP/2 flow control holds SendMsg back, and
// with it the subscription, which then reads from files when it comes back.
//
// The pass-through codec stands alone in codec.go, since it rests on parts of
// grpc that are marked experimental. Errors become statuses in one table,
// errors.go.
//
// Keep-alive: the server pings an idle connection after 30 s and gives it 10 s to
// answer; clients may ping every 10 s, with or without streams.
package grpcfeed
