// Package paimon knows what a table is on storage: which files make it up, what
// they mean, and the rules by which its definition may change.
//
// A [Catalog] names tables below a warehouse folder. A [Table] is one of them,
// or one of its branches: its [Schema] versions, [Snapshot] files, tags,
// branches, consumers, long-lived changelogs and statistics, and the manifests
// that say which data files each snapshot consists of. The package reads and
// writes the metadata files of format sections 1 to 3 and 8 and resolves the
// paths of all others; it opens no data file and makes no snapshot, which is the
// work of the packages above it.
//
// Schemas are created and changed here, under the checks of the original:
// a definition that it would refuse is refused with a [ValidationError], and a
// new version is put in place only if nobody else has taken its number.
//
// A Table is safe for concurrent use. Slices and structures that it returns may
// be shared with other callers and are not to be modified. Nothing is logged.
package paimon
