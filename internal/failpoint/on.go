//go:build failpoints

package failpoint

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Enabled tells whether points do anything.
const Enabled = true

// armed is the point at which this process dies, as its environment says once and
// for all.
var armed = sync.OnceValue(func() *countdown {
	text := os.Getenv(Env)
	if text == "" {
		return nil
	}
	p, time, err := parse(text)
	if err != nil {
		panic(err) // a test that believes to kill and does not is worse
	}
	c := &countdown{point: p}
	c.left.Store(int64(time))
	return c
})

type countdown struct {
	point Point
	left  atomic.Int64
}

// Here kills the process if the point is armed and this is the time.
func Here(p Point) {
	c := armed()
	if c == nil || c.point != p || c.left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // it is dead before it sees this
}
