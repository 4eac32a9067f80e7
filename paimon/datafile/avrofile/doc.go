// Package avrofile turns columns into Avro data files and back.
//
// It knows the physical file only: named columns of [rowdata.Type], no keys, no
// schema evolution, no deletion vectors, which are the business of the package
// above. The mapping of types is the one of the original writer (format section
// 5.1, with the rules for data files in schema.go), so that it can read what is
// written here. Reading follows the schema that stands in the file: columns are
// found by name, columns that nobody wants are skipped, columns that are not
// there read as NULL.
//
// A [Writer] and a [Reader] belong to one goroutine. Files come from outside:
// every length is checked against the bytes that are there before memory is
// taken, and nesting is limited.
package avrofile
