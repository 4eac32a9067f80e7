// Package engine makes the merge engine of a table from its schema and options.
//
// It is the one place where the options that speak of merging (merge-engine,
// ignore-delete, fields.*, aggregation.*, partial-update.*) become a
// [merge.Engine], so that whoever writes a table, compacts it or merges it on read
// does the same with the records of a key (semantics section 3).
package engine
