// Package natsfeed publishes a feed to a NATS JetStream stream, each change
// exactly once.
//
// The stream itself is the checkpoint: every message carries the cursor of the
// next row, so a [Publisher] that starts reads the last message and goes on
// there, after any outage and without a window of time. Every message also
// carries the sequence number and the id of the message that it expects to follow
// (fencing), so two publishers can never interleave: the one that loses a race learns it from the
// server, reads the last message again, finds another publisher's name in it and
// stops with a [*FencedError]. Message ids are deterministic, for consumers that
// want to check.
//
// Publishing is pipelined: acknowledgements are awaited in order by one
// goroutine, and the first that fails ends the session; the next session begins
// with the last message again. A stream is never created or changed unless told
// so; [Check] says what is wrong with one.
//
// Durability is JetStream's: an acknowledged message survives a crash of the
// server's process; that it survives the machine needs replicas or the server's
// sync_interval: always.
package natsfeed
