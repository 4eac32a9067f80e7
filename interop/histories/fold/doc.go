// Package fold checks the invariants of a complete changelog (semantics section
// 4.9): whoever applies all changes of a table with producer lookup or
// full-compaction from the start has the table at every snapshot, each -U and -D
// is the image that the reader has, a +U follows its -U at once, and a +I comes
// for absent keys alone.
//
// It knows changes as texts alone, so that the answers of any engine can be
// checked; package invariant feeds it with a table.
package fold
