// Package picks compares what our picker decides about a bucket with what Paimon
// Java's universal compaction decides: random shapes of levels, each with a
// strategy and several lists of runs that it is asked about in turn, since a
// strategy remembers. Java's answers to a sample are recorded in testdata and
// checked always; with the build tag interop fresh shapes are asked.
package picks
