// Package datafile writes and reads the data and changelog files of a table
// (format sections 9 and 10).
//
// A file is columns in Parquet or Avro; packages pqt and avrofile know the
// bytes. This package knows what Paimon puts into them and says about them:
//
//   - [Layout] gives the columns of a file: the key again in front, the system
//     columns of sequence number and kind, the columns of the table.
//   - [RollingWriter] cuts a stream of rows into files of a target size and
//     returns the [manifest.DataFile] of each, with keys, sequence range and
//     statistics. [TeeWriter] encodes once what is to stand in two files, a data
//     file and the changelog file of the same rows.
//   - [Open] finds the format by the file's name and reads it as the current
//     schema wants it: columns are found by field id, converted, or NULL where
//     the file has none; partition columns are constants; deleted rows are left
//     out. Where nothing of that is needed the columns pass through untouched.
//
// Nothing here opens files or knows where they lie: writers get a function that
// creates a [Sink], readers an [io.ReaderAt].
package datafile
