// Package pqt writes and reads the physical side of Parquet data files:
// columns of [rowdata.Vector] to bytes and back, for every Paimon type in every
// position (format sections 9.4 and 9.5). It knows nothing of keys, sequence
// numbers, schema evolution or object stores; package datafile does.
//
// # Writing
//
// [Writer] turns vectors into pages without a value ever being boxed: a column
// keeps the values of the open page in a typed slice, and a full page is
// bounded, encoded and compressed in one go. Integers of all kinds are written
// DELTA_BINARY_PACKED, strings and binaries RLE_DICTIONARY or PLAIN and nothing
// else (Java's vectorized reader gets the DELTA byte array encodings wrong),
// everything else PLAIN. Pages are of version 1, as Java's. At zstd's fastest level
// a page of short texts in which next to nothing repeats becomes a frame of literals
// alone, which any decoder reads: a sample of each page tells whether that holds.
//
// The bytes depend on the calls of Write, the fields and the options only: not
// on the name of the file, the clock or a random number. So the very same rows
// may be written to two files at the cost of one encoding by giving [NewWriter]
// an [io.MultiWriter].
//
// # Reading
//
// [Reader] finds columns and nested members by name and decodes their pages
// straight into the vectors of the caller, a batch of rows at a time. It reads
// pages of both versions, all encodings and codecs that Java and Arrow write,
// and files without page indexes. Nothing in a file is believed: lengths are
// checked before memory is taken for them, and what does not fit together is a
// [CorruptFileError].
//
// The package has its own codec for the metadata: the thrift decoder of
// parquet-go takes as much memory as a file asks for, and its encoder leaves out
// field id 0, which is the id of the first column of most Paimon tables.
package pqt
