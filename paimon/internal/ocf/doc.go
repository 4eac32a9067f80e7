// Package ocf reads and writes Avro object container files: what manifests and
// Avro data files are made of (format section 5.1).
//
// It is three things. [Schema] is a parsed Avro schema with the facts that a
// decoder needs. [Reader] and [Writer] handle the container: header, blocks,
// compression, sync markers. [Decoder] and the Append functions handle the values in a
// block, one primitive at a time, without reflection and without building
// generic values: the caller follows the writer's schema and takes what it
// knows, and [Decoder.Skip] steps over the rest.
//
// Files come from outside. Every length is checked against what is left before
// anything is allocated, schemas and values are bounded in depth, and a block in
// size.
package ocf
