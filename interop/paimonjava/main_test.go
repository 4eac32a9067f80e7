//go:build interop

package paimonjava

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"sluice/interop/oracle"
)

// machines are the virtual machines that no test uses at the moment. There are
// two at most: each takes a command at a time, and is busy for most of the time.
var machines chan *oracle.Oracle

// java gives a command to a machine.
func java(args ...string) ([]string, error) {
	o := <-machines
	defer func() { machines <- o }()
	return o.Run(args...)
}

// full asks for all conditions, and for comparisons after every step. Without it
// each table still goes through all of its steps and is compared at their end.
// make interop-full sets it.
func full() bool { return os.Getenv("SLUICE_INTEROP") == "full" }

// sometimes tells whether to do what is to be done after every step after step n
// too: always in the full form, else after each one in so many.
func sometimes(n, of int) bool { return full() || n%of == of-1 }

// few returns some of a list, others for each offset, or all in the full form.
func few[T any](list []T, offset, of int) []T {
	if full() {
		return list
	}
	var out []T
	for i := offset % of; i < len(list); i += of {
		out = append(out, list[i])
	}
	return out
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	count := min(2, runtime.GOMAXPROCS(0))
	machines = make(chan *oracle.Oracle, count)
	for range count {
		o, err := oracle.Start(ctx)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		machines <- o
	}
	code = m.Run()
	for range count {
		if err := (<-machines).Close(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			code = 1
		}
	}
	return code
}
