// Package lookup answers what a key of a bucket held before, from an index on
// local disk that may be thrown away at any time.
//
// An [Index] has one entry a key: its newest record above level 0, or, for
// merge engine first-row, the key alone. It reflects a [State]: the files above
// level 0 of one moment, by the fingerprint of their names. An index whose
// fingerprint is that of the live files is right, whoever wrote in the meantime
// and whatever happened to snapshots; any other catches up from changelogs or is
// built anew with [Index.Rebuild]. So nothing about it has to be logged or synced
// with a commit.
//
// What a compaction changes is collected in a [Stage] and becomes a part of the
// index, together with the new state, only after the snapshot is durable. Lookups
// see finished stages before that, since the next compaction may begin earlier.
//
// Values are in a log, in the order in which they were written. Where they are, by
// key, is in memory for the committed changes of late, as sorted runs, and in pages
// of about a hundred keys for all else. Pages are in the log too, and a Pebble database
// says where: tables are ingested, and neither its log nor its memtables are used.
// Restoring what was not in pages when a process ended is what the commits in the log
// are for.
//
// A [Cache] holds the indexes of a process: one folder, of which each process
// takes a slot of its own, one block cache, and bounds for memory, open databases
// and open files. An index that is corrupt, of another table, schema or format is
// opened as an empty one, and the reason is counted; a fault that is found later
// is an error for which errors.Is(err, [ErrRebuild]) holds. Neither is ever a
// wrong answer.
//
// This package alone imports Pebble.
package lookup
