package commit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

const (
	childRootEnv = "COMMIT_TEST_CHILD_ROOT"
	childUserEnv = "COMMIT_TEST_CHILD_USER"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(childRootEnv); root != "" {
		os.Exit(commitChild(root, os.Getenv(childUserEnv)))
	}
	goleak.VerifyTestMain(m)
}

// patient are options of committers that fight for every snapshot.
func patient() Options { return Options{MaxRetries: 1000, MaxRetryWait: 20e6} }

// raceRequest is the n-th commit of a user: one new file, and the compaction of
// the one before.
func raceRequest(user string, n int64) Request {
	file := namedFile(fmt.Sprintf("%s-%d", user, n), n+1)
	m := Message{NewFiles: []manifest.DataFile{file}}
	if n > 0 {
		m.CompactBefore = []manifest.DataFile{namedFile(fmt.Sprintf("%s-%d", user, n-1), n)}
		m.CompactAfter = []manifest.DataFile{namedFile(fmt.Sprintf("%s-%d-compacted", user, n-1), n)}
	}
	return Request{User: user, Identifier: n, Messages: []Message{m}}
}

// commitChild is one process of the race. It commits as often as it is told on
// standard input, and answers with the last snapshot of each commit.
func commitChild(root, user string) int {
	ctx := context.Background()
	table, err := paimon.Open(ctx, local.New(root, local.Options{NoSync: true}), "wh/db.db/t", "")
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	c := New(table, patient())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n, err := strconv.ParseInt(in.Text(), 10, 64)
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		result, err := c.Commit(ctx, raceRequest(user, n))
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("done", n, result.Last().ID)
	}
	return 0
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t *testing.T, root, user string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0]) // ends with its standard input
	cmd.Env = append(os.Environ(), childRootEnv+"="+root, childUserEnv+"="+user)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &child{cmd, in, bufio.NewReader(out)}
}

// checkRace checks that each commit of each user is there exactly once, in order,
// and that the live files are those of all commits together.
func checkRace(t *testing.T, snapshots []*paimon.Snapshot, live []string, commits map[string]int64) {
	t.Helper()
	next := map[string]int64{}
	seen := map[string]bool{}
	for _, s := range snapshots {
		key := fmt.Sprintf("%s %d %s", s.CommitUser, s.CommitIdentifier, s.CommitKind)
		require.False(t, seen[key], "%s is committed twice", key)
		seen[key] = true
		if s.CommitKind == paimon.CommitAppend {
			require.Equal(t, next[s.CommitUser], s.CommitIdentifier)
			next[s.CommitUser]++
		} else {
			require.Equal(t, next[s.CommitUser]-1, s.CommitIdentifier)
		}
	}
	require.Equal(t, commits, next)
	want := []string{}
	for user, n := range commits {
		for i := range n {
			name := fmt.Sprintf("0/0 %s-%d", user, i)
			if i < n-1 {
				name += "-compacted"
			}
			want = append(want, name)
		}
	}
	require.ElementsMatch(t, want, live)
}

func TestRaceOfGoroutines(t *testing.T) {
	const committers, commits = 8, 12
	f := newFixture(t, spec(map[string]string{"manifest.merge-min-count": "4"}))
	var wg sync.WaitGroup
	want := map[string]int64{}
	for i := range committers {
		// Two committers each have the same user and the same commits: whoever is
		// second finds that it is done.
		user := fmt.Sprintf("user%d", i/2)
		want[user] = commits
		c := New(f.reopen(f.store), patient())
		wg.Go(func() {
			for n := range int64(commits) {
				if _, err := c.Commit(t.Context(), raceRequest(user, n)); err != nil {
					t.Errorf("user %s: %v", user, err)
					return
				}
			}
		})
	}
	wg.Wait()
	checkRace(t, checkTable(t, f.store, f.table.Path), f.live(), want)
	all, used := metadataFiles(t, f.store, f.table.Path)
	require.ElementsMatch(t, all, used, "losers leave nothing behind")
}

func TestSharedCommitter(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	var wg sync.WaitGroup
	want := map[string]int64{}
	for i := range 4 {
		user := fmt.Sprintf("user%d", i)
		want[user] = 10
		wg.Go(func() {
			for n := range int64(10) {
				if _, err := c.Commit(t.Context(), raceRequest(user, n)); err != nil {
					t.Errorf("user %s: %v", user, err)
					return
				}
			}
		})
	}
	wg.Wait()
	checkRace(t, checkTable(t, f.store, f.table.Path), f.live(), want)
}

func TestRaceOfProcesses(t *testing.T) {
	const processes, commits = 4, 10
	root := t.TempDir()
	f := newFixtureOn(t, local.New(root, local.Options{NoSync: true}), spec(map[string]string{"manifest.merge-min-count": "5"}))
	want := map[string]int64{}
	var children []*child
	for i := range processes {
		user := fmt.Sprintf("process%d", i)
		want[user] = commits
		children = append(children, startChild(t, root, user))
	}
	for _, c := range children {
		for n := range commits {
			fmt.Fprintln(c.in, n)
		}
	}
	for _, c := range children {
		for n := range commits {
			line, err := c.out.ReadString('\n')
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(line, fmt.Sprintf("done %d ", n)), line)
		}
		require.NoError(t, c.in.Close())
		require.NoError(t, c.cmd.Wait())
	}
	checkRace(t, checkTable(t, f.store, f.table.Path), f.live(), want)
}

// TestKilledProcess kills a committer at some point of a commit, again and again,
// and starts another one that goes on where the table says.
func TestKilledProcess(t *testing.T) {
	root := t.TempDir()
	f := newFixtureOn(t, local.New(root, local.Options{NoSync: true}), spec(map[string]string{"manifest.merge-min-count": "5"}))
	next := int64(0)
	for round := range 6 {
		c := startChild(t, root, "victim")
		for n := next; n < next+20; n++ {
			fmt.Fprintln(c.in, n)
		}
		acknowledged := next - 1
		for range 2*round + 1 {
			line, err := c.out.ReadString('\n')
			require.NoError(t, err)
			var snapshot int64
			_, err = fmt.Sscanf(line, "done %d %d", &acknowledged, &snapshot)
			require.NoError(t, err, line)
		}
		require.NoError(t, c.cmd.Process.Kill())
		c.cmd.Wait()
		checkTable(t, f.store, f.table.Path)
		last, err := New(f.reopen(f.store), patient()).LastOf(t.Context(), "victim")
		require.NoError(t, err)
		require.GreaterOrEqual(t, last.CommitIdentifier, acknowledged, "what was acknowledged is there")
		// Its last commit may have only one of its two snapshots: repeat it.
		_, err = New(f.reopen(f.store), patient()).Commit(t.Context(), raceRequest("victim", last.CommitIdentifier))
		require.NoError(t, err)
		next = last.CommitIdentifier + 1
	}
	checkRace(t, checkTable(t, f.store, f.table.Path), f.live(), map[string]int64{"victim": next})
}
