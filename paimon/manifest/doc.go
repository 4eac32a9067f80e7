// Package manifest encodes and decodes manifests, manifest lists and index
// manifests (format sections 5 and 11.1), and holds the rules about their
// entries: what identifies a file, and which files are live.
//
// A manifest is a list of [Entry], each of which adds a data file to the table
// or deletes it. A manifest list is a list of [Meta], each of which names a
// manifest and sums it up. An index manifest is a list of [IndexEntry].
//
// Files are decoded by the schema they were written with, field by field name:
// writers of all versions and languages are read, unknown fields are skipped,
// missing ones are null. They are written with exactly the schema that the
// current Java version writes.
//
// The package is pure: bytes in, values out. It opens nothing.
package manifest
