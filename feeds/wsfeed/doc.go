// Package wsfeed serves feeds over WebSocket: one subscription a connection.
//
// A client opens a connection with the subprotocol sluice.v1.json (text messages)
// or sluice.v1.proto (binary messages, a SubscribeResponse of proto/sluice/v1
// each), sends a subscribe message and gets frames, each one message. Messages
// of the client are JSON with either subprotocol:
//
//	{"type":"subscribe","feed":"orders","start":"full"}
//	{"type":"ack","cursor":"…"}
//	{"type":"ping"}
//
// start and until take the texts of `gateway tail`; maxRows, maxBytes, columns,
// consumer and progressMillis are optional. The answer "subscribed" is sent when
// the position is pinned, so nothing committed after it is missed.
//
// Before a connection is closed for a reason, a message of type "error" tells the
// reason with the cursor to go on from. Close codes 4000 to 4499, 1001 and 1012
// mean "connect again with the cursor", 4500 to 4999 "do not": the ranges are a
// promise.
//
// The bytes of a message are shared by all connections of a view. When many
// messages are ready for a connection they are corked into one write; gorilla's
// package is used in conn.go alone.
package wsfeed
