// Package rowdata holds values as Paimon sees them, in columns, and the exact
// bytes that Paimon makes of them.
//
// Four types carry the whole engine:
//
//   - [Type] and [RowType] describe a column and a row as a schema file does.
//   - [Vector] is a column of values of one [Type]. It is the unit of work of
//     every hot path: files are decoded into vectors, merged by gathering from
//     vectors, and encoded from vectors. A single value (a literal, a statistic,
//     a default) is a vector of length one; there is no boxed scalar type.
//   - [Batch] is a set of vectors of equal length: rows of one [RowType].
//   - [Changes] and [KeyValues] are batches with a [RowKind] for each row, the
//     latter with the sequence numbers of a primary-key table too.
//
// Beside them stand the codecs, all of them pure functions on byte slices: the
// binary row of manifests and bucket hashing (format section 6), the type
// grammar of schema files (2.3), the text and JSON forms of values, partition
// directory names (8), bucket functions (7), value order (9.7), byte strings that
// order as keys do, and casts (2.6). A [Sorter] orders records as a write buffer
// flushes them.
//
// The package imports nothing of ours, opens nothing and logs nothing. Vectors
// are not safe for concurrent writing; any number of goroutines may read one.
package rowdata
