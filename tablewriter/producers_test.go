package tablewriter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/commit"
)

// step is a commit of a script: rows as "+I 1 a", and what comes of them.
type step struct {
	rows   string // separated by ", "
	mode   CompactMode
	reopen bool   // the writer is closed and opened anew before
	kinds  string // of the snapshots that it makes
	log    string // changelog rows of these snapshots
}

// anyKinds says that a step does not say which snapshots are made.
const anyKinds = "?"

// TestScripts runs histories over whole tables: which snapshots a commit makes,
// which changelog they have, and which rows are left.
func TestScripts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options []string
		steps   []step
		final   string
	}{
		{
			"none",
			[]string{"changelog-producer", "none"},
			[]step{
				{rows: "+I 1 a, +I 2 b", kinds: "APPEND"},
				{rows: "+U 1 c, -D 2 b", kinds: "APPEND"},
				{mode: CompactFull, kinds: "COMPACT"},
			},
			"1 c",
		},
		{
			"input",
			[]string{"changelog-producer", "input"},
			[]step{
				{rows: "+I 1 a, +U 1 b", kinds: "APPEND", log: "+I 1 a, +U 1 b"},
				{rows: "-D 1 b, +I 2 x", mode: CompactFull, kinds: "APPEND COMPACT", log: "-D 1 b, +I 2 x"},
			},
			"2 x",
		},
		{
			"none compacts when runs are many",
			[]string{"num-sorted-run.compaction-trigger", "2"},
			[]step{
				{rows: "+I 1 a", mode: CompactWait, kinds: "APPEND"},
				{rows: "+I 2 a", mode: CompactWait, kinds: "APPEND COMPACT"},
			},
			"1 a, 2 a",
		},
		{
			"lookup",
			[]string{"changelog-producer", "lookup"},
			[]step{
				{rows: "+I 1 a, +I 2 b", kinds: "APPEND COMPACT", log: "+I 1 a, +I 2 b"},
				{rows: "+U 1 c, -D 2 ?", kinds: "APPEND COMPACT", log: "-U 1 a, +U 1 c, -D 2 b"},
				{rows: "-D 9 x", kinds: "APPEND COMPACT"},
				{rows: "+I 2 z, +I 3 z", reopen: true, kinds: "APPEND COMPACT", log: "+I 2 z, +I 3 z"},
				{rows: "+I 3 z", kinds: "APPEND COMPACT", log: "-U 3 z, +U 3 z"},
				{mode: CompactFull, kinds: "COMPACT"},
				{rows: "-U 1 c, +U 1 d", reopen: true, mode: CompactFull, kinds: "APPEND COMPACT", log: "-U 1 c, +U 1 d"},
			},
			"1 d, 2 z, 3 z",
		},
		{
			"lookup without equal pairs",
			[]string{"changelog-producer", "lookup", "changelog-producer.row-deduplicate", "true"},
			[]step{
				{rows: "+I 1 a, +I 2 b", kinds: "APPEND COMPACT", log: "+I 1 a, +I 2 b"},
				{rows: "+I 1 a, +I 2 c", kinds: "APPEND COMPACT", log: "-U 2 b, +U 2 c"},
			},
			"1 a, 2 c",
		},
		{
			"lookup that nobody waits for is owed",
			[]string{"changelog-producer", "lookup", "lookup-wait", "false", "lookup-compact", "gentle", "lookup-compact.max-interval", "3", "num-sorted-run.compaction-trigger", "3"},
			[]step{
				{rows: "+I 1 a", kinds: "APPEND"},
				{rows: "+U 1 b", kinds: "APPEND"},
				{rows: "+U 1 c", mode: CompactWait, kinds: "APPEND COMPACT", log: "+I 1 c"},
			},
			"1 c",
		},
		{
			"first-row",
			[]string{"merge-engine", "first-row", "changelog-producer", "lookup"},
			[]step{
				{rows: "+I 1 a, +I 1 b", kinds: "APPEND COMPACT", log: "+I 1 a"},
				{rows: "+I 1 c, +U 2 x", kinds: "APPEND COMPACT", log: "+U 2 x"},
				{rows: "+I 2 c", reopen: true, kinds: "APPEND COMPACT"},
			},
			"1 a, 2 x",
		},
		{
			"forced lookup makes no changelog",
			[]string{"force-lookup", "true"},
			[]step{
				{rows: "+I 1 a", kinds: "APPEND COMPACT"},
				{rows: "+U 1 b", kinds: "APPEND COMPACT"},
			},
			"1 b",
		},
		{
			"full-compaction",
			[]string{"changelog-producer", "full-compaction"},
			[]step{
				{rows: "+I 1 a, +I 2 b", mode: CompactNone, kinds: "APPEND"},
				{rows: "+U 1 c, -D 2 b", mode: CompactFull, kinds: "APPEND COMPACT", log: "+I 1 c"},
				{rows: "+U 1 d", mode: CompactFull, kinds: "APPEND COMPACT", log: "-U 1 c, +U 1 d"},
				{rows: "-D 1 x", mode: CompactFull, kinds: "APPEND COMPACT", log: "-D 1 d"},
			},
			"",
		},
		{
			"full-compaction at each second commit",
			[]string{"changelog-producer", "full-compaction", "full-compaction.delta-commits", "2"},
			[]step{
				{rows: "+I 1 a", kinds: "APPEND"},
				{rows: "+U 1 b", kinds: "APPEND COMPACT", log: "+I 1 b"},
				{rows: "+U 1 c", kinds: "APPEND"},
				{rows: "+I 2 x", reopen: true, kinds: "APPEND COMPACT", log: "-U 1 b, +U 1 c, +I 2 x"},
			},
			"1 c, 2 x",
		},
		{
			"full-compaction of a bucket whose rows were all ignored",
			[]string{"changelog-producer", "full-compaction", "ignore-delete", "true"},
			[]step{
				{rows: "+I 1 a", mode: CompactNone, kinds: "APPEND"},
				{rows: "-D 9 x", mode: CompactFull, kinds: "COMPACT", log: "+I 1 a"},
			},
			"1 a",
		},
		{
			"write-only",
			[]string{"changelog-producer", "lookup", "write-only", "true", "num-sorted-run.compaction-trigger", "2"},
			[]step{
				{rows: "+I 1 a", kinds: "APPEND"},
				{rows: "+U 1 b", mode: CompactWait, kinds: "APPEND"},
				{rows: "+U 1 c", mode: CompactFull, kinds: "APPEND"},
			},
			"1 c",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// Rows that go straight above level 0 make one snapshot and else the same.
			for _, straight := range []bool{false, true} {
				table := newTable(t, memory(), usual(append([]string{"bucket", "1"}, tc.options...)...))
				s := &script{table: table, options: Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: !straight}}
				steps := slices.Clone(tc.steps)
				if straight {
					for i := range steps {
						steps[i].kinds = anyKinds
					}
				}
				s.run(t, steps)
				require.Equal(t, tc.final, s.rows(t))
			}
		})
	}
}

// script runs steps on a table of an INT key and a text.
type script struct {
	table   *paimon.Table
	options Options
	w       *Writer
	seen    int64 // snapshots
}

func (s *script) run(t *testing.T, steps []step) {
	t.Helper()
	for i, st := range steps {
		if s.w == nil || st.reopen {
			if s.w != nil {
				require.NoError(t, s.w.Close(t.Context()))
			}
			s.w = openWriter(t, s.table, s.options)
		}
		s.write(t, st.rows)
		_, err := s.w.CommitWith(t.Context(), st.mode)
		require.NoError(t, err, "step %d", i)
		kinds, log := s.made(t)
		if st.kinds != anyKinds {
			require.Equal(t, st.kinds, kinds, "step %d", i)
		}
		require.Equal(t, st.log, log, "step %d", i)
	}
	require.NoError(t, s.w.Close(t.Context()))
}

func (s *script) write(t *testing.T, rows string) {
	t.Helper()
	if rows == "" {
		return
	}
	var kinds string
	var values [][]any
	for _, row := range strings.Split(rows, ", ") {
		var kind, v string
		var k int
		_, err := fmt.Sscan(row, &kind, &k, &v)
		require.NoError(t, err, row)
		kinds += kind + " "
		values = append(values, []any{k, v})
	}
	write(t, s.w, strings.TrimSpace(kinds), values...)
}

// made returns the kinds and the changelog of the snapshots since the last call.
func (s *script) made(t *testing.T) (kinds, log string) {
	t.Helper()
	latest, err := s.table.LatestID(t.Context())
	require.NoError(t, err)
	var k, l []string
	for ; s.seen < latest; s.seen++ {
		snap, err := s.table.Snapshot(t.Context(), s.seen+1)
		require.NoError(t, err)
		k = append(k, string(snap.CommitKind))
		for _, row := range changelog(t, s.table, snap.ID) {
			l = append(l, plain(row))
		}
	}
	return strings.Join(k, " "), strings.Join(l, ", ")
}

func (s *script) rows(t *testing.T) string {
	t.Helper()
	var out []string
	for _, row := range latestRows(t, s.table) {
		out = append(out, plain(row))
	}
	return strings.Join(out, ", ")
}

// plain makes "+I 1 a" of a row as JSON.
func plain(row string) string {
	return strings.NewReplacer("[", "", "]", "", `"`, "", ",", " ").Replace(row)
}

// TestOverwriteOfLookupTable: an overwrite compacts, tells nothing, and what it
// wrote is what the next rows are compared with.
func TestOverwriteOfLookupTable(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		table := newTable(t, memory(), usual("bucket", "1", "changelog-producer", producer))
		s := &script{table: table, options: Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir()}}
		s.run(t, []step{{rows: "+I 1 a, +I 2 b", mode: CompactFull, kinds: anyKinds, log: "+I 1 a, +I 2 b"}})
		o := s.options
		o.Overwrite = &commit.Overwrite{}
		s.w = openWriter(t, table, o)
		s.write(t, "+I 2 x, +I 3 y")
		require.NoError(t, s.w.Close(t.Context()))
		kinds, log := s.made(t)
		require.Empty(t, log)
		require.True(t, strings.HasPrefix(kinds, "OVERWRITE"), kinds)
		s.w = nil
		s.run(t, []step{{rows: "+U 2 z, -D 3 ?, +I 1 n", mode: CompactFull, kinds: anyKinds, log: "+I 1 n, -U 2 x, +U 2 z, -D 3 y"}})
		require.Equal(t, "1 n, 2 z", s.rows(t))
	}
}

// TestExpiredRecords: records that are too old are gone with the next full
// compaction, and do not count as what a key held before.
func TestExpiredRecords(t *testing.T) {
	old, young := time.Now().Add(-2*time.Hour).Unix(), time.Now().Unix()
	table := newTable(t, memory(), spec([]string{"k INT", "at BIGINT"}, []string{"k"}, nil, "bucket", "1", "changelog-producer", "lookup",
		"record-level.expire-time", "1 h", "record-level.time-field", "at"))
	w := openWriter(t, table, Options{CommitInterval: time.Hour, LookupDir: t.TempDir()})
	commit := func(mode CompactMode, rows ...[]any) []string {
		if len(rows) > 0 {
			write(t, w, "", rows...)
		}
		id, err := w.CommitWith(t.Context(), mode)
		require.NoError(t, err)
		return changelog(t, table, id)
	}
	commit(CompactWait, []any{1, int(old)}, []any{2, int(young)})
	require.Equal(t, []string{fmt.Sprintf("+I [1,%d]", young)}, commit(CompactWait, []any{1, int(young)}), "the old record does not count")
	commit(CompactWait, []any{3, int(young)})
	require.Empty(t, commit(CompactFull))
	require.Len(t, latestRows(t, table), 3)
}
