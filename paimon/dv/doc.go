// Package dv reads the index files that belong to buckets: deletion vectors,
// which say which rows of a data file no longer count (format section 11.4), and
// HASH files, which say which keys a dynamic bucket holds (11.3).
//
// A deletion vector is a set of row positions, in one of two file formats. Files
// come from outside: sizes are checked before memory is taken, checksums and the
// structure of bitmaps before they are used.
package dv
