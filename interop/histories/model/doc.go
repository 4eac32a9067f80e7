// Package model says what a primary-key table must hold and what its stream must
// deliver, for every history of commits: the merge engines and changelog
// producers as the specification has them (semantics sections 2 to 4), written as
// plainly as possible. A bucket is a list of sorted runs, a run is a list of
// records, a record is a slice of values. It shares no code with the engine that
// it judges, and it is slow.
//
// Two things of a real table hang on the sizes of its files in bytes: which runs a
// compaction takes that nobody asked for, and with it how long a tombstone lives.
// The model knows no bytes. It follows every pick that the algorithm of semantics
// section 2.3 could make with files of some size, drops those that contradict what
// was seen, and finds fault when none is left. So a verdict is certain in one
// direction: what the model refuses can not come of any sizes.
//
// With the options of [Release] it is the released Java that is described, with
// what it gets wrong (semantics section 10); without options, it is us.
package model
