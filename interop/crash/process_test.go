package crash

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a process that is to be killed.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // of its standard output; closed when it has ended
	ended chan struct{}
	err   error // how; after ended

	mu     sync.Mutex
	stderr strings.Builder
}

// Write takes standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.Len() < 64<<10 {
		p.stderr.Write(b)
	}
	return len(b), nil
}

func (p *process) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// start starts a program. Its lines are read as they come, so that nothing that it
// said before it died is lost.
func start(t *testing.T, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, args...), lines: make(chan string, 1<<16), ended: make(chan struct{})}
	p.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "SLUICE_") }), env...)
	p.cmd.Stderr = p
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		in := bufio.NewScanner(out)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			p.lines <- in.Text()
		}
		close(p.lines)
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
		}
		for range p.lines {
		}
		<-p.ended
	})
	return p
}

// startChild starts the test's own binary as one of children.
func startChild(t *testing.T, child string, env ...string) *process {
	t.Helper()
	return start(t, append(env, childEnv+"="+child), os.Args[0], "-test.run=^$")
}

// line waits for a line of output that begins with a prefix.
func (p *process) line(prefix string) string {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				<-p.ended
				require.Fail(p.t, "the process ended", "%v: %s", p.err, p.errors())
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-late:
			require.Fail(p.t, "nothing that begins with "+prefix, p.errors())
		}
	}
}

// kill kills the process with SIGKILL and returns what it had still said. The
// process must not have ended by itself before.
func (p *process) kill() (rest []string) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill(), p.errors())
	return p.died()
}

// killed kills a process that may have ended well before, which it tells.
func (p *process) killed() (endedWell bool) {
	p.t.Helper()
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	for range p.lines {
	}
	<-p.ended
	if p.err != nil {
		p.died()
	}
	return p.err == nil
}

// died waits until the process is dead of SIGKILL.
func (p *process) died() (rest []string) {
	p.t.Helper()
	for line := range p.lines {
		rest = append(rest, line)
	}
	<-p.ended
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(p.t, ok)
	require.Equal(p.t, syscall.SIGKILL, status.Signal(), "the process ended by itself: %v: %s", p.err, p.errors())
	return rest
}

// stop asks the process to end, and expects it to do so well.
func (p *process) stop() (rest []string) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	for line := range p.lines {
		rest = append(rest, line)
	}
	<-p.ended
	require.NoError(p.t, p.err, p.errors())
	return rest
}

// pause waits for a random time.
func pause(r *rand.Rand, most time.Duration) {
	<-time.After(time.Duration(r.Int64N(int64(most))))
}

// freePort returns a port that nobody listens on, and that no outgoing connection
// is given: from the range of those, a client that dials a dead server's port can
// be connected with itself.
func freePort(t *testing.T, r *rand.Rand) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15_000+r.IntN(15_000))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		return addr
	}
	require.Fail(t, "no free port")
	return ""
}
