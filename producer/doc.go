// Package producer decides what changelog a step of a table's life makes.
//
// [None] makes none: readers follow the level-0 files themselves. [Input] has every
// record copied as it came when a write buffer is flushed (semantics sections 4.1
// and 4.2). The others compute changes from the state before when files are merged:
// [Lookup] when records leave level 0 (4.4), [FullCompaction] when they reach the
// highest level (4.6), and [FirstRow], for the merge engine of that name, when a key
// is seen for the first time (4.5).
//
// A producer gets the records of a compaction in batches cut into keys,
// [merge.Groups], and answers with a [merge.Result]: what is stored, what is told,
// and what changes in an index of the newest record above level 0. It works in
// columns: for each key it only notes which record stands and which are told, and
// the records are copied together at the end, a column at a time. Nothing is
// allocated for a key. What the state before was, Lookup and FirstRow find among
// the records or ask a [Previous], which is all they know of an index; they open
// nothing themselves.
package producer
