//go:build interop

package paimonjava

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"sluice/interop/oracle"
)

// java is the one virtual machine of all tests. It takes a command at a time, so
// that parallel tests work while others ask.
var java *oracle.Oracle

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if java, err = oracle.Start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	for k, v := range spent {
		fmt.Println(k, v.n, v.t)
	}
	err = java.Close()
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)
	fmt.Println("java cpu", u.Utime.Sec+u.Stime.Sec)
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		return 1
	}
	return code
}
