package main

import (
	"github.com/spf13/pflag"

	"sluice/internal/config"
	"sluice/tablewriter"
)

// compactionFlags bound what the compactions of a command take.
type compactionFlags struct {
	running      int
	memory, rate sizeFlag
}

func (f *compactionFlags) register(fl *pflag.FlagSet) {
	fl.IntVar(&f.running, "compactions", 0, "how many compactions run at once (default: the number of processors)")
	fl.Var(&f.memory, "compaction-memory", "memory that all compactions may take together, such as 512mb; one runs in any case (default 1gb)")
	fl.Var(&f.rate, "compaction-rate", "bytes per second that all compactions may write together, such as 50mb (default: no bound)")
}

// limits returns the limits that the flags ask for.
func (f *compactionFlags) limits() (tablewriter.CompactionLimits, error) {
	l := tablewriter.CompactionLimits{Running: f.running, MemoryBytes: int64(f.memory), WriteBytesPerSecond: int64(f.rate)}
	if f.running < 0 {
		return l, usagef("--compactions %d: want 0 or more", f.running)
	}
	return l, nil
}

// sizeFlag is a number of bytes on the command line, written as in the
// configuration. 0 stands for the default.
type sizeFlag int64

// String implements pflag.Value.
func (s *sizeFlag) String() string {
	if *s == 0 {
		return ""
	}
	return size(int64(*s))
}

// Set implements pflag.Value.
func (s *sizeFlag) Set(text string) error { return (*config.Size)(s).UnmarshalText([]byte(text)) }

// Type implements pflag.Value.
func (s *sizeFlag) Type() string { return "size" }
