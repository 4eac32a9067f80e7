// Package gctarget tells the garbage collector how much memory a process that
// writes or serves tables should take. Most of what such a process holds are long
// slices without pointers, which cost next to nothing to mark: so it collects
// somewhat more often than Go does by default, and takes less memory for it.
package gctarget

import (
	"os"
	"runtime/debug"
)

// percent is how much garbage there may be per hundred bytes that are in use.
const percent = 65

// Set sets the collector's target, and makes limit the soft limit of the process'
// memory in bytes; 0 sets none. Who sets GOGC or GOMEMLIMIT knows better.
func Set(limit int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
