// Command compare runs the works of bench/peer/README.md with this project and
// with Paimon Java by turns, one run of each side at a time, each in one process
// that is warm. It refuses to compare runs whose digests differ, and prints for
// each work the ratio of the medians of rows per CPU second.
//
// Both sides are paced: each waits for a line before a run, and while one runs
// the other sleeps. `bench/peer.sh` builds both programs and starts this one.
package main
