// Package paimonjava lets the real Apache Paimon judge our tables, and ours
// judge its. All of it is tests, with the build tag interop, since they need
// Java; `make interop` runs them.
//
// A table is written by either side, or by both in turns. Then Java's audit
// finds nothing, and rows, rows under a filter, and the changes of each snapshot
// are the same text on both sides. What is compared is written down in
// interop/java/README.md: the rendering of values, and what the audit checks.
//
// make interop-full compares after every step and with every condition, which
// takes several times as long: it is for changes of the format.
//
// Tables are random. Each test prints the seed of its rows, and SLUICE_SEED=n
// repeats it.
package paimonjava
