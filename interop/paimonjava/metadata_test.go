//go:build interop

package paimonjava

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/maintenance"
)

// TestMetadata has tags, branches, consumers, expirations and rollbacks made by
// us and, where both can, by either side.
func TestMetadata(t *testing.T) {
	for _, l := range []layout{
		{"keyed, input", []string{"k"}, nil, map[string]string{"bucket": "2", "changelog-producer": "input"}},
		{"keyed, partitioned", []string{"p", "k"}, []string{"p"}, map[string]string{"bucket": "1", "manifest.merge-min-count": "3"}},
		{"keyed, input, changelogs live longer", []string{"k"}, nil, map[string]string{
			"bucket": "1", "changelog-producer": "input", "changelog.num-retained.min": "6", "changelog.num-retained.max": "6", "snapshot.num-retained.max": "20",
		}},
		{"append", nil, []string{"q"}, map[string]string{"bucket": "-1"}},
		{"append, changes live longer", nil, nil, map[string]string{
			"bucket": "-1", "changelog.num-retained.min": "5", "changelog.num-retained.max": "5", "snapshot.num-retained.max": "20",
		}},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.options["write-only"] = "true" // a compaction that Java gives up leaves files
			f := ours(t, paimon.SchemaSpec{
				Schema: paimon.ColumnsSpec{
					Fields: []string{"k INT NOT NULL", "p STRING NOT NULL", "q DATE NOT NULL", "s BIGINT NOT NULL", "a INT COMMENT 'an a'", "v STRING DEFAULT 'x'"},
					PK:     l.pk, Partition: l.parts,
				},
				Options: l.options,
			})
			g := &history{table: f, values: newValues(t), layout: l, keys: 40}
			g.tagsAndBranches()
			g.branchWork()
			g.consumersAndExpiry()
			g.forward()
			g.rollbacks()
		})
	}
}

// settled checks everything: the audit, what is there, and every row and change.
func (g *history) settled() {
	g.Helper()
	g.verify()
	g.sameDescription()
	g.settlings++
	for _, b := range few(append(g.branches(), ""), g.settlings, 2) {
		g.sameRows(where{branch: b}, "")
		from, to := g.span(b)
		g.sameChanges(b, from, to)
	}
}

func (g *history) branches() []string {
	g.Helper()
	names, err := g.open("").Branches(g.Context())
	require.NoError(g, err)
	return names
}

func (g *history) tagsAndBranches() {
	g.Helper()
	for range 4 {
		g.byUs(8)
	}
	g.java("compact", g.dir, "--full")
	g.javaWrite("none", g.changes(8)...)
	t := g.open("")
	for name, o := range map[string]paimon.TagOptions{
		"two": {Snapshot: 2, Retained: 24 * time.Hour}, "three": {Snapshot: 3}, "5": {}, "gone": {Snapshot: 1},
	} {
		_, err := t.CreateTag(g.Context(), name, o)
		require.NoError(g, err)
	}
	g.java("tag", g.dir, "of Java", "--snapshot", "4", "--retain", "P2D")
	require.NoError(g, maintenance.DeleteTag(g.Context(), t, "gone"))
	require.NoError(g, t.CreateBranch(g.Context(), "b", "three"))
	require.NoError(g, t.CreateBranch(g.Context(), "empty", ""))
	g.java("branch", g.dir, "java", "--tag", "two")
	require.NoError(g, t.CreateBranch(g.Context(), "dropped", "two"))
	require.NoError(g, t.DeleteBranch(g.Context(), "dropped"))
	g.settled()
}

// branchWork writes on the branches, either side.
func (g *history) branchWork() {
	g.Helper()
	add, err := paimon.ParseChange("add column x BIGINT AFTER v")
	require.NoError(g, err)
	_, err = g.open("empty").Alter(g.Context(), []paimon.Change{add})
	require.NoError(g, err)
	for _, b := range []string{"b", "java", "empty"} {
		g.writeTo(b, g.changes(7)...)
		g.javaStep(map[string]any{"write": g.changes(7), "branch": b, "compact": "none"})
		g.writeTo(b, g.changes(7)...)
	}
	_, err = g.open("b").CreateTag(g.Context(), "on the branch", paimon.TagOptions{})
	require.NoError(g, err)
	g.byUs(8)
	g.settled()
}

func (g *history) consumersAndExpiry() {
	g.Helper()
	t := g.open("")
	_, to := g.span("")
	require.NoError(g, t.SetConsumer(g.Context(), "reader", 4))
	require.NoError(g, t.SetConsumer(g.Context(), "other", to))
	require.NoError(g, t.SetConsumer(g.Context(), "gone", 1))
	require.NoError(g, t.DeleteConsumer(g.Context(), "gone"))
	g.java("consumer", g.dir, "javas", "--next", "5")
	g.expireAll(1)
	first, _ := g.firstSnapshot()
	require.EqualValues(g, 4, first, "a consumer has not read the rest")
	g.settled()

	require.NoError(g, t.ResetConsumer(g.Context(), "reader", to))
	g.java("consumer", g.dir, "--delete", "javas")
	g.javaWrite("none", g.changes(8)...)
	g.java("compact", g.dir, "--full")
	g.byUs(6)
	g.expireAll(2)
	g.settled()
	if orphans := g.orphans(); len(orphans) > 0 {
		g.Errorf("expiry leaves %v", orphans)
	}
}

func (g *history) firstSnapshot() (int64, error) { return g.open("").EarliestID(g.Context()) }

// expireAll expires snapshots as we do, and long-lived changelogs if there are.
func (g *history) expireAll(keep int) {
	g.Helper()
	t := g.open("")
	o := maintenance.ExpireOptions{RetainMin: keep, RetainMax: keep, TimeRetained: -1, DeletesMax: 1000}
	_, err := maintenance.ExpireSnapshots(g.Context(), t, o)
	require.NoError(g, err)
	if g.layout.options["changelog.num-retained.max"] != "" {
		_, err = maintenance.ExpireChangelogs(g.Context(), t, maintenance.ExpireOptions{TimeRetained: -1, DeletesMax: 1000})
		require.NoError(g, err)
	}
}

// orphans are files that nothing refers to.
func (g *history) orphans() []string {
	g.Helper()
	later := time.Now().Add(48 * time.Hour)
	o, err := maintenance.CleanOrphans(g.Context(), g.open(""), maintenance.OrphanOptions{
		OlderThan: later, Unsafe: true, DryRun: true, Now: func() time.Time { return later },
	})
	require.NoError(g, err)
	var names []string
	for _, f := range o.Files {
		names = append(names, f.Name)
	}
	return names
}

// forward makes main go on as a branch did, and both sides go on from there.
func (g *history) forward() {
	g.Helper()
	require.NoError(g, g.open("").FastForward(g.Context(), "b"))
	g.settled()
	g.javaWrite("none", g.changes(6)...)
	g.byUs(6)
	g.settled()
}

// rollbacks go back to a snapshot and to a tag, and both sides go on from there.
func (g *history) rollbacks() {
	g.Helper()
	_, to := g.span("")
	require.NoError(g, maintenance.RollbackToSnapshot(g.Context(), g.open(""), to-1))
	g.settled()
	g.byUs(5)
	_, err := g.open("").CreateTag(g.Context(), "back", paimon.TagOptions{})
	require.NoError(g, err)
	g.javaWrite("none", g.changes(5)...)
	g.byUs(5)
	g.settled()
	require.NoError(g, maintenance.RollbackToTag(g.Context(), g.open(""), "back"))
	g.settled()
	g.byUs(5)
	_, to = g.span("")
	g.byUs(5)
	g.java("rollback", g.dir, strconv.FormatInt(to, 10))
	g.javaWrite("none", g.changes(5)...)
	g.byUs(5)
	g.settled()
}
