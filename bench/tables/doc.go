// Package tables keeps the tables of the benchmarks: prepared ones, made once
// for each build of a program, and tables under test, which end with it. A
// prepared table is written by the code that is measured, so another build makes
// its own and removes the older ones.
package tables
