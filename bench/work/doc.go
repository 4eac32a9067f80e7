// Command work does the works of bench/peer/README.md with this project: the
// same rows, tables and options, the same parts timed, and digests of the
// results by which a run of either side is known to have done the same. It
// prints a line of JSON a run with the fields of the peer; notes of a commit's
// or a poll's cost have the peer's names too.
//
// What is different, and why it may be compared:
//
//   - Rows of a commit are made before the clock runs, as with the peer, and are
//     handed to the writer as batches of columns, not one by one: that is the
//     writer's interface. A commit ends when its snapshot is durable.
//   - fsync is on. The peer does not call it; --fsync=false leaves it out, to say
//     what it costs.
//   - Tables that need a full compaction, which cannot be made yet, are the
//     peer's: prepared by it in its home, and read or written to (as copies with
//     links) where they lie. Run the peer's work of that name once to have them.
//     The others are made by this program, once for each build of it.
//   - poll times the plan and the read of a commit as one, since the reader's
//     interface does not part them.
package main
