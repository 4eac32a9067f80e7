// Package demo is the change stream of `gateway demo`: a recorded one, then a
// generated one that goes on for ever.
//
// The recording (orders.jsonl.zst) is what Debezium captured of a real
// PostgreSQL under pgbench; capture/ has the script that makes it anew. It is
// replayed through the same decoder that any Debezium stream takes. When it is
// used up, a generator goes on with the orders that are in the table: new ones,
// payments, shipments, corrections, cancellations.
//
// A [Stream] is at a [Position] that is committed together with the rows, so a
// demo that was stopped at any moment goes on with the next change: none is lost
// and none is written twice.
package demo
