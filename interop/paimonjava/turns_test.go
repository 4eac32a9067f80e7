//go:build interop

package paimonjava

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/maintenance"
)

// turnLayouts are tables that both sides write by turns.
var turnLayouts = []layout{
	{"none", []string{"k"}, nil, map[string]string{"bucket": "1"}},
	{"none, sequence, descending", []string{"k"}, nil, map[string]string{
		"bucket": "2", "sequence.field": "a,s", "sequence.field.sort-order": "descending",
	}},
	{"none, partitioned", []string{"p", "k"}, []string{"p"}, map[string]string{"bucket": "3", "file.format": "avro", "sequence.field": "a"}},
	{"input", []string{"k"}, nil, map[string]string{"bucket": "4", "changelog-producer": "input"}},
	{"input, partitioned", []string{"q", "k", "p"}, []string{"p", "q"}, map[string]string{
		"bucket": "1", "changelog-producer": "input", "streaming-read-overwrite": "true", "manifest.merge-min-count": "4",
	}},
	{"input, sequence", []string{"k"}, nil, map[string]string{"bucket": "2", "changelog-producer": "input", "sequence.field": "a"}},
	{"append", nil, nil, map[string]string{"bucket": "-1", "manifest.merge-min-count": "3"}},
	{"append, partitioned", nil, []string{"q"}, map[string]string{"bucket": "-1"}},
	{"append, bucket key", nil, []string{"p"}, map[string]string{"bucket": "2", "bucket-key": "s"}},
	{"lookup", []string{"k"}, nil, map[string]string{"bucket": "2", "changelog-producer": "lookup", "write-only": "true"}},
	{"full-compaction", []string{"p", "k"}, []string{"p"}, map[string]string{"bucket": "1", "changelog-producer": "full-compaction", "write-only": "true"}},
}

// TestTurns has 20 rounds of writes by either side, with compactions, overwrites,
// tags and expirations between them. After each both read the same.
func TestTurns(t *testing.T) {
	for i, l := range turnLayouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			create := ours
			if i%2 == 1 {
				create = javas
			}
			f := create(t, paimon.SchemaSpec{
				Schema: paimon.ColumnsSpec{
					Fields: []string{"k INT NOT NULL", "p STRING NOT NULL", "q DATE NOT NULL", "s BIGINT NOT NULL", "a INT", "v STRING", "d DECIMAL(22,3)"},
					PK:     l.pk, Partition: l.parts,
				},
				Options: l.options,
			})
			g := &history{table: f, values: newValues(t), layout: l, keys: 60}
			for round := range 20 {
				g.round(round)
				if sometimes(round, 4) {
					g.sameSince()
					g.sound("--no-fold")
				}
			}
			g.verify()
			if from, to := g.span(""); from > 1 {
				g.sameChanges("", from+1, to) // what the oldest one replaced is gone
			}
			for _, tag := range g.tags() {
				g.sameRows(where{tag: tag}, "")
			}
		})
	}
}

// round lets one side do something.
func (g *history) round(n int) {
	g.Helper()
	switch {
	case n%5 == 3:
		args := []string{"compact", g.dir}
		if g.chance(2) {
			args = append(args, "--full")
		}
		g.java(args...)
	case n == 7 || n == 14:
		g.overwrite()
	case n == 11:
		g.drop()
	case n%5 == 1:
		g.tag(n)
		g.byUs(5)
	case n == 9 || n == 17:
		g.expire()
		g.byJava(5)
	case g.chance(2):
		g.byUs(5 + g.IntN(20))
	default:
		g.byJava(5 + g.IntN(20))
	}
}

// byJava writes as Java, which compacts if it makes the changelog.
func (g *history) byJava(n int) {
	g.Helper()
	if g.layout.options["write-only"] == "" {
		g.javaWrite("none", g.changes(n)...)
		return
	}
	step := map[string]any{"write": g.changes(n), "compact": "none"}
	if g.chance(2) {
		step["compact"] = pick(g.values, "wait", "full")
		step["dynamic"] = map[string]string{"write-only": "false"}
	}
	g.javaStep(step)
}

// overwrite lets Java replace the partitions of some rows, one partition, or all.
func (g *history) overwrite() {
	g.Helper()
	rows := g.changes(6)
	for i := range rows {
		rows[i].Kind = "+I"
	}
	step := map[string]any{"overwrite": rows}
	if len(g.layout.parts) > 0 && g.chance(2) {
		names, values := g.layout.parts, rows[0].Row
		step["overwrite"] = rows[:1]
		step["partition"] = map[string]any{names[0]: g.partitionValue(names[0], values)}
	}
	g.javaStep(step)
}

func (g *history) partitionValue(name string, row []any) any {
	return row[g.open("").Schema().Index(name)]
}

// drop removes a partition, or all, as we do.
func (g *history) drop() {
	g.Helper()
	t := g.open("")
	c := commit.New(t, commit.Options{})
	last, err := c.LastOf(g.Context(), "janitor")
	require.NoError(g, err)
	require.Nil(g, last)
	if len(g.layout.parts) > 0 {
		row := g.changes(1)[0].Row
		name := g.layout.parts[0]
		_, err = c.DropPartitions(g.Context(), "janitor", 1, []map[string]string{{name: fmt.Sprint(g.partitionValue(name, row))}})
	} else {
		_, err = c.Truncate(g.Context(), "janitor", 1)
	}
	require.NoError(g, err)
}

func (g *history) tag(n int) {
	g.Helper()
	name := "t" + strconv.Itoa(n)
	if g.chance(2) {
		g.java("tag", g.dir, name)
		return
	}
	if _, to := g.span(""); to == 0 {
		return
	}
	_, err := g.open("").CreateTag(g.Context(), name, paimon.TagOptions{})
	require.NoError(g, err)
}

func (g *history) tags() []string {
	g.Helper()
	names, err := g.open("").TagNames(g.Context())
	require.NoError(g, err)
	return names
}

// expire keeps three snapshots.
func (g *history) expire() {
	g.Helper()
	if g.chance(2) {
		g.java("expire", g.dir, "--retain-min", "3", "--retain-max", "3")
		return
	}
	_, err := maintenance.ExpireSnapshots(g.Context(), g.open(""), maintenance.ExpireOptions{RetainMin: 3, RetainMax: 3, TimeRetained: -1, DeletesMax: 1000})
	require.NoError(g, err)
}

// sound is the audit with an option.
func (f *table) sound(option string) {
	f.Helper()
	for _, p := range f.problems(option) {
		f.Errorf("verify: %s", p)
	}
}

// TestWriterStaysOpen has a writer of ours that goes on while Java compacts, as a
// dedicated compaction job does.
func TestWriterStaysOpen(t *testing.T) {
	for _, l := range []layout{turnLayouts[0], turnLayouts[3], turnLayouts[5], turnLayouts[8], turnLayouts[9]} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			f := ours(t, paimon.SchemaSpec{
				Schema: paimon.ColumnsSpec{
					Fields: []string{"k INT NOT NULL", "p STRING NOT NULL", "q DATE NOT NULL", "s BIGINT NOT NULL", "a INT", "v STRING"},
					PK:     l.pk, Partition: l.parts,
				},
				Options: l.options,
			})
			g := &history{table: f, values: newValues(t), layout: l, keys: 60}
			w := f.writer("")
			for round := range 12 {
				f.commit(w, g.changes(10)...)
				switch round % 4 {
				case 1:
					f.java("compact", f.dir)
				case 3:
					f.java("compact", f.dir, "--full")
				}
				if sometimes(round, 2) {
					g.sameSince()
				}
			}
			require.NoError(t, w.Close(t.Context()))
			f.agree()
		})
	}
}
