// Package lsm is the write side of one bucket's merge tree.
//
// A [Writer] takes the changes of one (partition, bucket) of a primary-key table
// in the order they came, gives each its sequence number and keeps them in a
// write buffer: an append-only columnar arena. At a flush the buffer is sorted
// by key, the versions of each key are folded by the table's merge function, and
// what is left goes to level-0 files; if the changelog producer wants it, every
// record as it came goes to changelog files, in one encoding with the data where
// both are the same. [Writer.Prepare] hands over what a commit must name: an
// [Increment]. An [Appender] does the same for tables without a key, where there
// is nothing to sort.
//
// The buffers of many buckets share the memory of a [Pool]. When it is full, the
// buffer that occupies most of it makes room: it spills a sorted run to local
// disk, which changes nothing of what the flush will write, or, where that is
// not allowed, is flushed early.
//
// [Levels] are the files of a bucket. A [Picker] decides which of their sorted runs
// are compacted, [NewCompaction] how: what is merged with what, and which files only
// change their level; both are pure. [Compaction.Run] then does it, streaming and in
// bounded memory, wherever the caller wants it to run, and asks a changelog producer
// what to store and to tell. [Writer.Detach] makes a run of what is buffered, so that
// it can be merged above level 0 without becoming a file of level 0.
//
// There are no goroutines and no locks in this package: a pool and its writers
// belong to one goroutine. Nothing here is durable for the table until a commit
// names the files.
package lsm
