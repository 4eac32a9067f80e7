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
// Buckets of tables with a primary key are compacted beside writing or, where the
// table's changelog or its readers need it, as a part of the commit ([CompactMode];
// semantics sections 1.6 to 1.9 and 2). A shard keeps each bucket's levels between
// commits, so that no manifest is read again unless others commit. What they did is
// found out at the next commit: either it agrees with ours, or the compact part of
// the commit is given up, its files are deleted, and it is made anew from what is
// there now. The rows of the commit are not concerned.
//
// For tables that look up what a key held before, each bucket has an index of the
// newest records above level 0 (package lookup). Its changes are staged and
// applied after their snapshot is durable; a fingerprint of the files above level 0
// tells whether it reflects the table. If not, it catches up from changelog files or
// is built anew. Rows of a commit that fit the write buffer are merged with it
// straight above level 0: one snapshot, and no file that is written only to be
// read and written once more.
//
// A [Job] compacts beside the writers of this and other processes and engines;
// [Health] tells what the buckets are like.
//
// There is no log of our own: what is not committed when the process dies was
// never acknowledged, and its source sends it again.
package tablewriter
