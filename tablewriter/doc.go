// Package tablewriter is the write path of one table: rows in, snapshots out.
//
// [Open] reads what the table is and refuses by name what cannot be written yet.
// [Writer.Write] checks a batch of changes in the caller's goroutine (NOT NULL,
// defaults, row kinds; semantics section 1.1), routes its rows to partitions and
// buckets in columns, and hands them to the shards, one goroutine each, that own
// the buckets' write buffers. A batch is taken whole or not at all: an error
// names the row and answers that batch alone.
//
// Batches of any number of callers are committed together: a commit is cut when
// the first batch has waited long enough, or when rows or bytes are enough, and
// one commit loop names the files of all buckets in one snapshot. A [Receipt]
// answers when, and only when, that snapshot is durable. While a commit is being
// made the next one fills; memory is bounded by the bytes of batches on their way
// to the shards, the write buffers and the size of a commit, and Write waits
// when one of these is full.
//
// A batch may carry the [Position] that its source has reached. It is stored in
// the snapshot with the rows, so rows and position cannot part; [Writer.Restore]
// reads it back after a restart. Commit identifiers of a user ascend strictly,
// and a second writer of the same user is found out and refused, not mixed in.
//
// There is no log of our own: what is not committed when the process dies was
// never acknowledged, and its source sends it again.
package tablewriter
