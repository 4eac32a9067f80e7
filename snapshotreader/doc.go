// Package snapshotreader reads Paimon tables, whoever wrote them: the rows of a
// snapshot ([Scan]) and the changes from a position on ([Open], [Tailer]).
//
// A stream is a sequence of deliveries. It may begin with the image of one
// snapshot, then come the changes of each following snapshot in the order of
// their ids, empty ones included. A delivery is cut into units: the changes of a
// snapshot into its files in manifest order, an image into its groups of one
// partition and bucket, ordered by partition value and bucket number. Snapshots
// and files never change once they are there, so a unit and the order of rows in
// it are facts of the table, the same on every reader at any time. That is what a
// [Cursor] names: snapshot, phase, unit, row. Resuming opens the unit and skips.
//
// What a snapshot contributes follows from the schema that the snapshot names,
// not from what the table's options are when somebody reads: a cursor must mean
// the same rows before and after an ALTER TABLE.
//
// A [Batch] owns its memory: it is decoded into fresh vectors and never touched
// again, so that any number of holders may keep it. A [Tailer] starts no
// goroutine; Next works in the caller's.
package snapshotreader
