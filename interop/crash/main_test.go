package crash

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// childEnv names what a process is that the tests start of their own binary.
const childEnv = "SLUICE_CRASH_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		fmt.Fprintln(os.Stderr, children[child](context.Background()))
		os.Exit(1) // a child only ends when it is killed, or in trouble
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, p := range []*program{&gatewayProgram, &victimProgram} {
			if p.dir != "" {
				os.RemoveAll(p.dir) //nolint:errcheck // a folder for temporary files
			}
		}
		os.Exit(code)
	}))
}

// children are the programs that the test binary can be.
var children = map[string]func(context.Context) error{"writer": writeForEver, "nats": serveNATS}

// patience bounds the wait for anything that must come.
const patience = 60 * time.Second

// kills returns how often a test kills, of so many in an ordinary run.
func kills(t *testing.T, ordinary int) int {
	t.Helper()
	text := os.Getenv("SLUICE_KILLS")
	if text == "" {
		return ordinary
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "SLUICE_KILLS")
	return n
}

// chance returns a source of chance that is the test's own, by SLUICE_SEED.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SLUICE_SEED"); text != "" && text != "0" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "SLUICE_SEED")
	}
	t.Logf("SLUICE_SEED=%d", seed)
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// program is one that is built once for all tests.
type program struct {
	pkg  string
	args []string // of the go command

	once sync.Once
	dir  string
	path string
	err  error
}

var (
	gatewayProgram = program{pkg: "sluice/cmd/gateway"}
	victimProgram  = program{pkg: "sluice/interop/crash/victim", args: []string{"-tags=failpoints"}}
)

// binary returns the path of the built program.
func (p *program) binary(t *testing.T) string {
	t.Helper()
	p.once.Do(func() {
		if p.dir, p.err = os.MkdirTemp("", "sluice-crash-*"); p.err != nil {
			return
		}
		p.path = filepath.Join(p.dir, filepath.Base(p.pkg))
		args := append([]string{"build", "-ldflags=-s -w", "-o", p.path}, append(p.args, p.pkg)...)
		out, err := exec.Command("go", args...).CombinedOutput()
		if err != nil {
			p.err = fmt.Errorf("build %s: %w\n%s", p.pkg, err, out)
		}
	})
	require.NoError(t, p.err)
	return p.path
}

// gatewayBinary returns the path of the built gateway.
func gatewayBinary(t *testing.T) string {
	t.Helper()
	return gatewayProgram.binary(t)
}
