package maintenance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// TestNothingNeededIsDeleted plays random histories of a table with branches and
// tags, and reads after each step everything that is still promised.
func TestNothingNeededIsDeleted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { play(r, t.Context(), true) })
}

// TestNothingUnneededStays plays histories without branches, ends all retention
// and looks for files that are left.
func TestNothingUnneededStays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := play(r, t.Context(), false)
		tags, err := w.table.TagNames(w.ctx)
		require.NoError(r, err)
		for _, name := range tags {
			require.NoError(r, DeleteTag(w.ctx, w.table, name))
		}
		if _, err := w.table.LatestID(w.ctx); errors.Is(err, paimon.ErrNoSnapshot) {
			return
		}
		w.commit(w.table, change{kind: paimon.CommitAnalyze})
		w.expireAll(w.table, 1)
		for range 2 { // the newest changelog stays, and with it what the one before it deleted
			w.commit(w.table, change{kind: paimon.CommitAnalyze})
			w.expireAll(w.table, 1)
			_, err = ExpireChangelogs(w.ctx, w.table, ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1, DeletesMax: 1000, Now: w.clock})
			require.NoError(r, err)
		}
		w.check()
		found, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, DryRun: true, Now: w.clock})
		require.NoError(r, err)
		require.Empty(r, found.Files)
	})
}

// play plays a random history and returns the table.
func play(r *rapid.T, ctx context.Context, branches bool) *world {
	options := map[string]string{"changelog-producer": rapid.SampledFrom([]string{"none", "input", "lookup"}).Draw(r, "producer")}
	if rapid.Bool().Draw(r, "decoupled") {
		options["changelog.num-retained.min"] = "100"
	}
	w := newWorld(r, ctx, options)
	for step := range rapid.IntRange(1, 30).Draw(r, "steps") {
		w.step(r, step, branches)
		w.check()
	}
	return w
}

// pick chooses a branch.
func (w *world) pick(r *rapid.T, branches bool) *paimon.Table {
	if !branches {
		return w.table
	}
	names, err := w.table.Branches(w.ctx)
	require.NoError(r, err)
	return w.branch(rapid.SampledFrom(append(names, paimon.MainBranch)).Draw(r, "branch"))
}

func (w *world) step(r *rapid.T, step int, branches bool) {
	t := w.pick(r, branches)
	latest, err := t.LatestID(w.ctx)
	if err != nil {
		require.ErrorIs(r, err, paimon.ErrNoSnapshot)
	}
	kinds := []string{"write", "write", "compact", "overwrite", "expire", "expire", "changelogs", "tag", "untag", "consumer", "rollback", "orphans"}
	if branches {
		kinds = append(kinds, "branch", "unbranch")
	}
	kind := rapid.SampledFrom(kinds).Draw(r, "kind")
	if latest == 0 && kind != "write" {
		return
	}
	switch kind {
	case "write", "compact", "overwrite":
		w.commit(t, w.randomChange(r, t, kind))
	case "expire":
		retain := rapid.IntRange(1, 5).Draw(r, "retain")
		_, err := ExpireSnapshots(w.ctx, t, ExpireOptions{RetainMin: retain, RetainMax: retain, TimeRetained: -1, DeletesMax: rapid.IntRange(1, 10).Draw(r, "limit"), Now: w.clock})
		require.NoError(r, err)
	case "changelogs":
		retain := rapid.IntRange(1, 8).Draw(r, "retain")
		_, err := ExpireChangelogs(w.ctx, t, ExpireOptions{RetainMin: retain, RetainMax: retain, TimeRetained: -1, DeletesMax: rapid.IntRange(1, 10).Draw(r, "limit"), Now: w.clock})
		require.NoError(r, err)
	case "tag":
		ids, err := t.SnapshotIDs(w.ctx)
		require.NoError(r, err)
		_, err = t.CreateTag(w.ctx, fmt.Sprint("tag", step), paimon.TagOptions{Snapshot: rapid.SampledFrom(ids).Draw(r, "snapshot")})
		require.NoError(r, err)
	case "untag":
		if name := w.anyTag(r, t); name != "" {
			require.NoError(r, DeleteTag(w.ctx, t, name))
		}
	case "consumer":
		require.NoError(r, t.SetConsumer(w.ctx, "c", rapid.Int64Range(1, latest+1).Draw(r, "next")))
	case "rollback":
		w.rollback(r, t)
	case "orphans":
		_, err := CleanOrphans(w.ctx, t, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, Now: w.clock})
		require.NoError(r, err)
	case "branch":
		tag := w.anyTag(r, t)
		if tag != "" {
			// A tag whose snapshot has expired has lost its changelog, which the checks
			// would miss in the branch.
			from, err := t.Tag(w.ctx, tag)
			require.NoError(r, err)
			if ok, err := t.SnapshotExists(w.ctx, from.Snapshot.ID); err != nil || !ok {
				return
			}
		}
		require.NoError(r, t.CreateBranch(w.ctx, fmt.Sprint("b", step), tag))
	case "unbranch":
		if t.Branch != paimon.MainBranch {
			require.NoError(r, w.table.DeleteBranch(w.ctx, t.Branch))
		}
	}
}

func (w *world) anyTag(r *rapid.T, t *paimon.Table) string {
	names, err := t.TagNames(w.ctx)
	require.NoError(r, err)
	if len(names) == 0 {
		return ""
	}
	return rapid.SampledFrom(names).Draw(r, "tag")
}

// rollback goes back to a snapshot that is there. (One that comes back from a tag
// has lost its changelog, which the checks would miss.)
func (w *world) rollback(r *rapid.T, t *paimon.Table) {
	ids, err := t.SnapshotIDs(w.ctx)
	require.NoError(r, err)
	require.NoError(r, RollbackToSnapshot(w.ctx, t, rapid.SampledFrom(ids).Draw(r, "to")))
}

// randomChange draws what a commit does to the files of a branch.
func (w *world) randomChange(r *rapid.T, t *paimon.Table, kind string) change {
	c := change{kind: paimon.CommitAppend, merge: rapid.Bool().Draw(r, "merge"), index: rapid.Bool().Draw(r, "index"), stats: rapid.Bool().Draw(r, "stats")}
	producer := t.Schema().ChangelogProducer()
	partition := int32(rapid.IntRange(0, 1).Draw(r, "partition"))
	changelog := func() {
		if rapid.Bool().Draw(r, "has changelog") {
			c.changelog = []manifest.Entry{w.file("changelog-", partition, 0, manifest.SourceAppend)}
		}
	}
	if kind == "write" {
		for range rapid.IntRange(0, 2).Draw(r, "files") {
			c.delta = append(c.delta, w.file("data-", partition, 0, manifest.SourceAppend))
		}
		if producer == paimon.ProducerInput {
			changelog()
		}
		return c
	}
	for _, e := range w.live(t) {
		switch rapid.SampledFrom([]string{"keep", "delete", "upgrade"}).Draw(r, e.File.FileName) {
		case "delete":
			c.delta = append(c.delta, deleted(e))
		case "upgrade":
			if e.File.Level < 5 && kind == "compact" {
				up := e
				up.File.Level = 5
				c.delta = append(c.delta, deleted(e), up)
			}
		}
	}
	c.kind = paimon.CommitCompact
	source := manifest.SourceCompact
	if kind == "overwrite" {
		c.kind, source = paimon.CommitOverwrite, manifest.SourceAppend
	}
	c.delta = append(c.delta, w.file("data-", partition, 4, source))
	if kind == "compact" && producer == paimon.ProducerLookup {
		changelog()
	}
	return c
}
