// Package workload is what a writer that is killed writes: what a commit does
// follows from its number alone, so that a table that holds the commits before one,
// each once and in order, can be told from any other. The rows of one commit are
// few or more than a write buffer takes.
package workload
