// Package judge compares what two engines did with one history: another engine's
// answer, and ours. Changes are compared commit by commit and in order within a
// bucket, rows at the end as a set, errors by commit and meaning.
//
// A difference is explained only if package model, which knows both engines, can
// say why there must or may be one; the rules are in [Rules]. Whatever the other
// engine says, our own changelog must fold to our own table.
package judge
