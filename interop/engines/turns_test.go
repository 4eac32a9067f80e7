//go:build engines

package engines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/histories/fold"
	"sluice/interop/histories/invariant"
	"sluice/interop/oracle"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// session is a Flink cluster that takes scripts one after another.
type session struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	diag bytes.Buffer // to be read after the end
}

func startFlink(t *testing.T, warehouse string) *session {
	t.Helper()
	s := &session{t: t}
	cmd := exec.CommandContext(t.Context(), "./flink-sql/flink-sql", "--warehouse", warehouse, "--idle", "8s", "--timeout", "120s", "--serve")
	cmd.Stderr = &s.diag
	var err error
	s.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	s.out = bufio.NewReaderSize(out, 1<<20)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // the context of the test is over, and with it the command, if it did not end by itself
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(s.diag.String())
		}
	})
	return s
}

// run runs a script, which must succeed, and returns the lines of its output.
func (s *session) run(format string, args ...any) []string {
	s.t.Helper()
	_, err := fmt.Fprintln(s.in, fmt.Sprintf(format, args...))
	require.NoError(s.t, err)
	var lines []string
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(s.t, err, "flink-sql has ended")
		switch line = strings.TrimSuffix(line, "\n"); line {
		case `{"done":true}`:
			return lines
		case `{"done":false}`:
			s.t.Fatalf("Flink refuses: "+format, args...)
		}
		lines = append(lines, line)
	}
}

// record is a row of the table, and how each side writes it.
type record struct {
	k  int
	v  string
	n  int64
	d  string
	at string // time with milliseconds
}

const day = "2026-11-30"

func (r *record) script() string {
	return fmt.Sprintf(`{"k":%d,"v":"%s","n":%d,"d":"%s","at":"%s %s"}`, r.k, r.v, r.n, r.d, day, r.at)
}

func (r *record) sql() string {
	return fmt.Sprintf("(%d, '%s', %d, %s, TIMESTAMP '%s %s')", r.k, r.v, r.n, r.d, day, r.at)
}

func (r *record) values() []any {
	return []any{json.Number(strconv.Itoa(r.k)), r.v, json.Number(strconv.FormatInt(r.n, 10)), r.d, day + "T" + r.at}
}

// line is the row as it is read.
func (r *record) line() string {
	return fmt.Sprintf(`{"k":%d,"v":"%s","n":%d,"d":"%s","at":"%sT%s"}`, r.k, r.v, r.n, r.d, day, r.at)
}

// turns is a table that Flink and we write and compact by turns.
type turns struct {
	*testing.T
	*rand.Rand
	flink *session
	p     *paimon.Table
	dir   string
	rows  map[int]*record // what must be in the table
}

func (x *turns) record(k int) *record {
	return &record{
		k: k, v: fmt.Sprintf("v%d", x.IntN(1000)), n: x.Int64N(1 << 40), d: fmt.Sprintf("%d.25", x.IntN(900)),
		at: fmt.Sprintf("12:%02d:%02d.%03d", x.IntN(60), x.IntN(60), x.IntN(1000)),
	}
}

// kinded is a change.
type kinded struct {
	kind string
	*record
}

// changes draws inserts, updates in two parts and in one, and deletes, of 40 keys.
func (x *turns) changes(n int) (out []kinded) {
	for range n {
		k := x.IntN(40)
		next := x.record(k)
		old, there := x.rows[k]
		switch {
		case there && x.IntN(4) == 0:
			out = append(out, kinded{"-D", old})
			delete(x.rows, k)
			continue
		case there && x.IntN(2) == 0:
			out = append(out, kinded{"-U", old}, kinded{"+U", next})
		case there:
			out = append(out, kinded{"+U", next})
		default:
			out = append(out, kinded{"+I", next})
		}
		x.rows[k] = next
	}
	return out
}

// byFlink streams changes into the table, a checkpoint for each group, or inserts,
// updates and deletes by statements, each a commit; then it may compact. With
// write-only it leaves what it wrote on level 0, for a compaction as a job of its
// own.
func (x *turns) byFlink(turn int) {
	x.Helper()
	hint := []string{"", " /*+ OPTIONS('write-only' = 'true') */"}[x.IntN(2)]
	switch turn % 3 {
	case 0:
		path := filepath.Join(x.dir, fmt.Sprintf("%d.changes", turn))
		var b strings.Builder
		for range 3 {
			for _, c := range x.changes(8) {
				fmt.Fprintf(&b, "%s %s\n", c.kind, c.script())
			}
			b.WriteString("---\n")
		}
		require.NoError(x, os.WriteFile(path, []byte(b.String()), 0o600))
		x.flink.run("SET 'execution.runtime-mode' = 'streaming'; CREATE TEMPORARY TABLE src%d (%s, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'script', 'path' = '%s', 'changelog-mode' = 'all'); "+
			"INSERT INTO t%s SELECT * FROM src%d; SET 'execution.runtime-mode' = 'batch'", turn, columns, path, hint, turn)
	case 1:
		var values []string
		for range 10 {
			r := x.record(x.IntN(40))
			x.rows[r.k] = r
			values = append(values, r.sql())
		}
		x.flink.run("INSERT INTO t%s VALUES %s", hint, strings.Join(values, ", "))
	default:
		from := x.IntN(40)
		for k, r := range x.rows {
			switch {
			case k >= from && k < from+6:
				delete(x.rows, k)
			case k%5 == turn%5:
				next := *r
				next.v = "updated" + strconv.Itoa(turn)
				x.rows[k] = &next
			}
		}
		x.flink.run("DELETE FROM t WHERE k >= %d AND k < %d; UPDATE t SET v = 'updated%d' WHERE MOD(k, 5) = %d", from, from+6, turn, turn%5)
	}
	switch how := x.IntN(3); {
	case how == 0:
		x.flink.run("CALL sys.compact(`table` => 'default.t', compact_strategy => 'full')")
	case how == 1 || hint != "":
		x.flink.run("CALL sys.compact(`table` => 'default.t', compact_strategy => 'minor')")
	}
}

// byUs writes two commits with a writer that compacts in one way or another, and
// then may compact as the gateway's command does.
func (x *turns) byUs() {
	x.Helper()
	w, err := tablewriter.Open(x.Context(), x.p, tablewriter.Options{
		User: "engines", CommitInterval: time.Hour, LookupDir: filepath.Join(x.dir, "index"), StraightOff: x.IntN(2) == 0,
	})
	require.NoError(x, err)
	for range 2 {
		b := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 16)}
		for _, c := range x.changes(10) {
			kind, err := rowdata.ParseRowKind(c.kind)
			require.NoError(x, err)
			require.NoError(x, rowdata.AppendJSONRow(&b.Batch, c.values()))
			b.Kinds = append(b.Kinds, kind)
		}
		_, err := w.Write(x.Context(), b, tablewriter.Position{})
		require.NoError(x, err)
		modes := []tablewriter.CompactMode{tablewriter.CompactAuto, tablewriter.CompactWait, tablewriter.CompactFull}
		_, err = w.CommitWith(x.Context(), modes[x.IntN(3)])
		require.NoError(x, err)
	}
	require.NoError(x, w.Close(x.Context()))
	if how := x.IntN(3); how > 0 {
		x.compact(how == 1)
	}
}

func (x *turns) compact(full bool) {
	x.Helper()
	_, err := tablewriter.Compact(x.Context(), x.p, tablewriter.CompactOptions{Full: full, User: "job", LookupDir: filepath.Join(x.dir, "job")})
	require.NoError(x, err)
}

// want are the rows that must be in the table.
func (x *turns) want() []string {
	out := []string{}
	for _, r := range x.rows {
		out = append(out, r.line())
	}
	slices.Sort(out)
	return out
}

// Flink and we write and compact a table by turns, 20 in all. After each the rows
// are those of the model. At the end both streams are equal, fold to the table,
// and take back what they had told, and the audit finds nothing.
func TestTurnsWithFlink(t *testing.T) {
	const seed = 11
	for _, producer := range []string{"lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			dir := t.TempDir()
			warehouse := filepath.Join(dir, "wh")
			x := &turns{T: t, Rand: rand.New(rand.NewPCG(seed, 2)), flink: startFlink(t, warehouse), dir: dir, rows: map[int]*record{}}
			x.flink.run("CREATE TABLE t (%s, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2', 'changelog-producer' = '%s', 'num-sorted-run.compaction-trigger' = '3')", columns, producer)
			var err error
			x.p, err = catalog(warehouse).OpenTable(t.Context(), "default.t")
			require.NoError(t, err)
			for turn := range 20 {
				if turn%2 == 0 {
					x.byFlink(turn / 2)
				} else {
					x.byUs()
				}
				ours, err := rows(t.Context(), x.p)
				require.NoError(t, err)
				slices.Sort(ours)
				require.Equal(t, x.want(), ours, "turn %d", turn)
				require.Equal(t, ours, plain(changes(t, x.flink.run("SELECT * FROM t"))), "turn %d", turn)
			}
			if producer == "full-compaction" {
				x.flink.run("CALL sys.compact(`table` => 'default.t', compact_strategy => 'full')")
			}
			x.sameStreams()
			require.NoError(t, x.flink.in.Close())
			x.verify(filepath.Join(warehouse, "default.db", "t"))
		})
	}
}

// sameStreams compares the changes from the first snapshot on as both read them.
// Those of one bucket are in order; which bucket of a snapshot comes first is left
// to the reader, so keys are compared one by one, and all changes as a set.
func (x *turns) sameStreams() {
	x.Helper()
	theirs := changes(x.T, x.flink.run("SET 'execution.runtime-mode' = 'streaming'; SELECT * FROM t /*+ OPTIONS('scan.mode' = 'from-snapshot', "+
		"'scan.snapshot-id' = '1', 'scan.remove-normalize' = 'true', 'continuous.discovery-interval' = '200ms') */"))
	stop := make(chan struct{})
	close(stop)
	ours, err := tail(x.Context(), x.p, stop)
	require.NoError(x, err)
	require.NotEmpty(x, ours)
	require.Equal(x, x.byKey(ours), x.byKey(theirs))
	require.Len(x, theirs, len(ours))

	table := map[string]string{}
	for k, r := range x.rows {
		table[strconv.Itoa(k)] = r.line()
	}
	for _, stream := range [][]string{ours, theirs} {
		var f fold.Fold
		all := make([]fold.Change, len(stream))
		for i, line := range stream {
			kind, row, _ := strings.Cut(line, " ")
			all[i] = fold.Change{Kind: kind, Key: strconv.Itoa(x.key(row)), Row: row}
		}
		require.Empty(x, append(append(f.Apply(all), f.End()...), f.Equal(table)...))
	}
	problems, err := invariant.Table(x.Context(), x.p)
	require.NoError(x, err)
	require.Empty(x, problems)
	x.Logf("%d changes", len(ours))
	x.bothTold()
}

// bothTold checks that either side made changelog.
func (x *turns) bothTold() {
	x.Helper()
	latest, err := x.p.LatestID(x.Context())
	require.NoError(x, err)
	told := map[bool]int64{}
	for id := int64(1); id <= latest; id++ {
		s, err := x.p.Snapshot(x.Context(), id)
		require.NoError(x, err)
		if s.ChangelogRecordCount != nil {
			told[s.CommitUser == "engines" || s.CommitUser == "job"] += *s.ChangelogRecordCount
		}
	}
	require.Positive(x, told[true], "ours")
	require.Positive(x, told[false], "Flink's")
	x.Logf("%d of ours, %d of Flink's", told[true], told[false])
}

func (x *turns) key(row string) int {
	x.Helper()
	var r struct{ K int }
	require.NoError(x, json.Unmarshal([]byte(row), &r), row)
	return r.K
}

func (x *turns) byKey(stream []string) map[int][]string {
	x.Helper()
	out := map[int][]string{}
	for _, line := range stream {
		_, row, _ := strings.Cut(line, " ")
		k := x.key(row)
		out[k] = append(out[k], line)
	}
	return out
}

// verify is the audit by Paimon Java.
func (x *turns) verify(dir string) {
	x.Helper()
	o, err := oracle.Start(x.Context())
	require.NoError(x, err)
	found, err := o.Run("verify", dir, "--quiet")
	require.NoError(x, err, "%v", found)
	require.Empty(x, found)
	require.NoError(x, o.Close())
}
