// Package runner does on our engine what a case says, and compares what comes out
// with what the case expects.
package runner
