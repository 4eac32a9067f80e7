package crash

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/failpoint"
	"sluice/interop/crash/workload"
	"sluice/interop/histories/invariant"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// runsOfTable is how many processes at most write a table before the next one is
// made.
const runsOfTable = 20

// TestCrashLookup kills processes that make changelogs, at every failpoint, at calls
// of the store, around snapshots and by the clock, and between them does harm to
// their lookup indexes. After each one the table holds the commits that were
// acknowledged, or one more, and its changelog folds to it at each snapshot.
func TestCrashLookup(t *testing.T) {
	t.Parallel()
	r, began := chance(t), time.Now()
	runs := kills(t, 40)
	how, killed := newDeaths(r), 0
	harmed := map[string]int{}
	other := ""
	kinds := workload.Kinds()
	first := r.IntN(len(kinds))
	n := max(2, min(runsOfTable, runs/len(kinds))) // some of each kind
	for done := 0; done < runs; done += n {
		kind := &kinds[(first+done/n)%len(kinds)]
		c := newCrashed(t, rand.New(rand.NewPCG(r.Uint64(), 1)), kind, other)
		c.create()
		for range n {
			d := how.pick(c.table.Schema().ChangelogProducer() == paimon.ProducerLookup)
			died, harm := c.run(d)
			if harmed[harm]++; died {
				how.count[d.name]++
				killed++
			}
		}
		c.finish()
		other = c.indexes.dir
	}
	names := slices.SortedFunc(maps.Keys(how.count), func(a, b string) int { return cmp.Compare(how.count[b], how.count[a]) })
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "\n%6d  %s", how.count[name], name)
	}
	t.Logf("%d processes in %v, %d of them killed; indexes before: %v%s", runs, time.Since(began).Round(time.Millisecond), killed, harmed, text.String())
	require.Greater(t, killed, runs/3)
	if runs < 600 {
		return
	}
	for _, p := range failpoint.Points() {
		require.Positive(t, how.count[string(p)], "no process died at %s", p)
	}
}

// crashed is a table whose writers die.
type crashed struct {
	t       *testing.T
	r       *rand.Rand
	kind    *workload.Kind
	seed    uint64
	dir     string
	table   *paimon.Table
	indexes indexes
	check   *invariant.Checker
	state   *workload.State
	seen    *checked // files that are known to be whole
	checked int64    // snapshots
	at      int64    // commits in the table
	story   []string
}

func newCrashed(t *testing.T, r *rand.Rand, kind *workload.Kind, other string) *crashed {
	dir := t.TempDir()
	return &crashed{
		t: t, r: r, kind: kind, seed: r.Uint64(), dir: filepath.Join(dir, "warehouse"), seen: newChecked(),
		indexes: indexes{t: t, r: r, dir: filepath.Join(dir, "lookup"), other: other},
	}
}

func (c *crashed) create() {
	cat := catalogOf(local.New("/", local.Options{NoSync: true}), c.dir)
	require.NoError(c.t, cat.CreateDatabase(c.t.Context(), "db"))
	var err error
	c.table, err = cat.CreateTable(c.t.Context(), workload.TableName, c.kind.Spec())
	require.NoError(c.t, err)
	c.check, err = invariant.NewChecker(c.table)
	require.NoError(c.t, err)
	c.state = workload.NewState(c.kind, c.seed)
}

// run starts a process, lets it die, if it comes so far, and checks what it left.
func (c *crashed) run(d *death) (died bool, harmed string) {
	c.t.Helper()
	harmed = c.indexes.harmed(c.indexes.picked(d))
	commits, compactor := 2+c.r.IntN(8), c.kind.Apart && c.r.IntN(2) == 0
	c.tell("%s; indexes %s; compactor %t, %d commits", d, harmed, compactor, commits)
	args := append(c.args(commits, compactor, false), d.args...)
	p := start(c.t, d.env(), victimProgram.binary(c.t), args...)
	if d.after > 0 {
		select {
		case <-p.ended:
		case <-time.After(d.after):
			p.cmd.Process.Kill() //nolint:errcheck // it may have ended
		}
	}
	died, lines := c.ended(p)
	c.left(c.acked(lines, compactor))
	return died, harmed
}

// tell notes what happened, for the message of a failure.
func (c *crashed) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf("commit %d: ", c.at)+fmt.Sprintf(format, args...))
}

func (c *crashed) args(commits int, compactor, full bool) []string {
	return []string{
		"-warehouse=" + c.dir, "-lookup=" + c.indexes.dir, "-kind=" + c.kind.Name,
		fmt.Sprintf("-seed=%d", c.seed), fmt.Sprintf("-chance=%d", c.r.Uint64()),
		fmt.Sprintf("-commits=%d", commits), fmt.Sprintf("-straight-off=%t", c.r.IntN(3) == 0),
		fmt.Sprintf("-compactor=%t", compactor), fmt.Sprintf("-full=%t", full),
	}
}

// ended waits for the process, which may only die of SIGKILL.
func (c *crashed) ended(p *process) (died bool, lines []string) {
	c.t.Helper()
	late := time.AfterFunc(patience, func() { p.cmd.Process.Signal(syscall.SIGABRT) }) //nolint:errcheck // to see where it hangs
	defer late.Stop()
	for line := range p.lines {
		lines = append(lines, line)
	}
	<-p.ended
	if p.err == nil {
		return false, lines
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(c.t, ok)
	require.Equal(c.t, syscall.SIGKILL, status.Signal(), "the process ended by itself: %v: %s\n%s", p.err, p.errors(), c)
	return true, lines
}

// acked returns how many commits were acknowledged, by this process or before.
func (c *crashed) acked(lines []string, compactor bool) int64 {
	c.t.Helper()
	acked := c.at
	for _, line := range lines {
		var n int64
		if _, err := fmt.Sscanf(line, "from %d", &n); err == nil {
			require.Equal(c.t, c.at, n, "where a writer goes on\n%s", c)
		}
		if _, err := fmt.Sscanf(line, "acked %d", &n); err == nil {
			require.False(c.t, compactor)
			require.Equal(c.t, acked+1, n)
			acked = n
		}
	}
	return acked
}

// left checks what a process left in the table.
func (c *crashed) left(acked int64) {
	c.t.Helper()
	ids, err := c.table.SnapshotIDs(c.t.Context())
	require.NoError(c.t, err)
	if len(ids) == 0 {
		require.Zero(c.t, acked, "acknowledged, and there is no snapshot\n%s", c)
		return
	}
	latest := ids[len(ids)-1]
	require.Equal(c.t, latest, int64(len(ids)), "snapshots without gaps\n%s", c)
	c.wholeFiles(latest)
	c.at = c.position(latest)
	require.GreaterOrEqual(c.t, c.at, acked, "an acknowledged commit is lost\n%s", c)
	require.LessOrEqual(c.t, c.at, acked+1, "commits that were never made\n%s", c)
	problems, err := c.check.Through(c.t.Context(), latest)
	require.NoError(c.t, err, "%s", c)
	require.Empty(c.t, problems, "%s", c)
	c.state.Through(c.at)
	c.requireRows(c.rows(latest, snapshotreader.LevelsAll), "all levels")
}

// wholeFiles checks that all files are there that new snapshots name, and those
// that the newest one can be read from.
func (c *crashed) wholeFiles(latest int64) {
	c.t.Helper()
	for id := c.checked + 1; id <= latest; id++ {
		s, err := c.table.Snapshot(c.t.Context(), id)
		require.NoError(c.t, err)
		requireSnapshot(c.t, c.table, s, c.seen)
	}
	s, err := c.table.Snapshot(c.t.Context(), latest)
	require.NoError(c.t, err)
	live, err := c.table.LiveEntries(c.t.Context(), s, paimon.Filter{})
	require.NoError(c.t, err)
	for i := range live {
		requireFile(c.t, c.table.Store, c.table.DataFilePath(&live[i]), live[i].File.FileSize)
	}
	c.checked = latest
}

// position returns how many commits the writer's newest snapshot says are in.
func (c *crashed) position(latest int64) int64 {
	c.t.Helper()
	for id := latest; id > 0; id-- {
		s, err := c.table.Snapshot(c.t.Context(), id)
		require.NoError(c.t, err)
		if s.CommitUser != workload.Writer {
			continue
		}
		n, err := strconv.ParseInt(s.Properties[tablewriter.PropertyPosition+workload.Source], 10, 64)
		require.NoError(c.t, err, "snapshot %d\n%s", id, c)
		return n
	}
	return 0
}

// rows returns the rows of a snapshot in order of keys.
func (c *crashed) rows(id int64, levels snapshotreader.Levels) []string {
	c.t.Helper()
	snap, err := c.table.Snapshot(c.t.Context(), id)
	require.NoError(c.t, err)
	scan, err := snapshotreader.Scan(c.t.Context(), c.table, snap, snapshotreader.ScanSpec{Levels: levels})
	require.NoError(c.t, err)
	defer scan.Close()
	byKey := map[int32]string{}
	for {
		b, err := scan.Next(c.t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(c.t, err, "%s", c)
		for i := range b.Rows.N {
			key := b.Rows.Cols[0].I32[i]
			require.NotContains(c.t, byKey, key, "a row is there twice\n%s", c)
			byKey[key] = string(rowdata.AppendJSONObject(nil, &b.Rows.Batch, i))
		}
	}
	out := make([]string, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, byKey[key])
	}
	return out
}

// requireRows compares rows with what must be there, and names those that differ.
func (c *crashed) requireRows(got []string, what string) {
	c.t.Helper()
	want := c.state.Rows()
	if slices.Equal(want, got) {
		return
	}
	without := func(rows, others []string) []string {
		return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(others, row) })
	}
	require.Fail(c.t, what, "snapshot %d: missing %q, wrong %q\n%s", c.checked, without(want, got), without(got, want), c)
}

// finish lets a process end well, that compacts all: then the changelog has told
// everything.
func (c *crashed) finish() {
	c.t.Helper()
	for _, compactor := range []bool{false, true} {
		if compactor && !c.kind.Apart {
			continue
		}
		c.tell("to its end; compactor %t", compactor)
		died, lines := c.ended(start(c.t, nil, victimProgram.binary(c.t), c.args(1, compactor, true)...))
		require.False(c.t, died)
		c.left(c.acked(lines, compactor))
	}
	told := c.rows(c.checked, snapshotreader.ImageLevels(c.table.Schema().ChangelogProducer()))
	c.requireRows(told, "the changelog")
	sweep(c.t, c.table)
	c.requireRows(c.rows(c.checked, snapshotreader.LevelsAll), "after the dead writers' files were removed")
	require.NoError(c.t, os.RemoveAll(c.dir))
	if c.indexes.copies != "" {
		require.NoError(c.t, os.RemoveAll(c.indexes.copies))
	}
}

// String tells the table's story.
func (c *crashed) String() string {
	return fmt.Sprintf("table %q, seed %d:\n  %s", c.kind.Name, c.seed, strings.Join(c.story, "\n  "))
}
