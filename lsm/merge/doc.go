// Package merge merges sorted runs of records and folds the versions of a key.
//
// A [Source] is a run: batches of records sorted by key. An [Iter] merges any
// number of them in the one order of the format (section 15.3): key, then the
// table's sequence fields with NULL first, then sequence number, then retract
// before add. Records of one key are folded by the table's [Engine]: a [Function]
// keeps one of them as it stands (deduplicate, first-row), a [Folder] builds a row
// of them ([PartialUpdate], [Aggregation]). A key with a single record never meets
// the engine, which is what the format calls a reducer.
// [Sections] cuts files into groups that need merging at all.
//
// The work is done in columns. The merge itself only looks at eight-byte
// prefixes of keys and decides which stretches of which batches follow one
// another; a [Gatherer] then copies these stretches column by column. Nothing is
// allocated for a row, and no function value is called for a comparison as long
// as the prefixes tell the keys apart.
//
// The same code serves the flush of a write buffer that spilled, merge on read,
// and compaction. It knows nothing of tables and their options.
package merge
