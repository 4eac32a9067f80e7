// Command victim writes a table, or compacts it, until it is killed or is through.
// Built with the tag failpoints it can kill itself: see package failpoint, and the
// flags -die-at-call and -die-at-snapshot.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sluice/interop/crash/workload"
	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/tablewriter"
)

// victim is what the flags say.
type victim struct {
	warehouse, lookup string
	kind              string
	seed, chance      uint64
	commits           int
	straightOff       bool
	compactor         bool
	full              bool
	call              int
	snapshot          int
	after             bool
}

func main() {
	var v victim
	flag.StringVar(&v.warehouse, "warehouse", "", "its folder")
	flag.StringVar(&v.lookup, "lookup", "", "folder of lookup indexes")
	flag.StringVar(&v.kind, "kind", "", "of table")
	flag.Uint64Var(&v.seed, "seed", 0, "of what is written")
	flag.Uint64Var(&v.chance, "chance", 0, "seed of how it is committed")
	flag.IntVar(&v.commits, "commits", 0, "how many, or rounds of the compactor")
	flag.BoolVar(&v.straightOff, "straight-off", false, "level 0 first")
	flag.BoolVar(&v.compactor, "compactor", false, "compact, write nothing")
	flag.BoolVar(&v.full, "full", false, "compact fully in the end")
	flag.IntVar(&v.call, "die-at-call", 0, "number of the store's call before which it dies")
	flag.IntVar(&v.snapshot, "die-at-snapshot", 0, "how many snapshots this process puts before it dies")
	flag.BoolVar(&v.after, "after", false, "die after it was put, not before")
	flag.Parse()
	if err := v.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (v *victim) run(ctx context.Context) error {
	i := slices.IndexFunc(workload.Kinds(), func(k workload.Kind) bool { return k.Name == v.kind })
	if i < 0 {
		return fmt.Errorf("no kind of table %q", v.kind)
	}
	kind := workload.Kinds()[i]
	store := v.deadly(local.New("/", local.Options{NoSync: true}))
	table, err := paimon.NewCatalog(store, strings.TrimPrefix(filepath.ToSlash(v.warehouse), "/")).OpenTable(ctx, workload.TableName)
	if err != nil {
		return err
	}
	if v.compactor {
		return v.compact(ctx, table)
	}
	return v.write(ctx, table, &kind)
}

// write makes commits and says which are acknowledged.
func (v *victim) write(ctx context.Context, table *paimon.Table, kind *workload.Kind) error {
	w, err := tablewriter.Open(ctx, table, tablewriter.Options{
		User: workload.Writer, CommitInterval: time.Hour, LookupDir: v.lookup, StraightOff: v.straightOff,
	})
	if err != nil {
		return err
	}
	point, err := w.Restore(ctx)
	if err != nil {
		return err
	}
	next := int64(0)
	if p, ok := point.Position(workload.Source); ok {
		if next, err = strconv.ParseInt(p.Value, 10, 64); err != nil {
			return err
		}
	}
	fmt.Println("from", next)
	r := rand.New(rand.NewPCG(v.chance, 1))
	for range v.commits {
		rows := kind.Changes(w.Type(), v.seed, next)
		next++
		if _, err := w.Write(ctx, rows, tablewriter.Position{Source: workload.Source, Value: strconv.FormatInt(next, 10)}); err != nil {
			return err
		}
		if _, err := w.CommitWith(ctx, mode(r)); err != nil {
			return err
		}
		fmt.Println("acked", next)
	}
	if v.full && !kind.Apart {
		if _, err := w.CommitWith(ctx, tablewriter.CompactFull); err != nil {
			return err
		}
	}
	m := w.Metrics()
	fmt.Println("metrics", m.Commits, m.IndexRebuilds, m.IndexCatchUps, m.IndexErrors)
	return w.Close(ctx)
}

// mode is mostly what the table's options say.
func mode(r *rand.Rand) tablewriter.CompactMode {
	return []tablewriter.CompactMode{
		tablewriter.CompactAuto, tablewriter.CompactAuto, tablewriter.CompactAuto, tablewriter.CompactAuto,
		tablewriter.CompactNone, tablewriter.CompactNone, tablewriter.CompactWait, tablewriter.CompactFull,
	}[r.IntN(8)]
}

// compact does rounds of compaction.
func (v *victim) compact(ctx context.Context, table *paimon.Table) error {
	r := rand.New(rand.NewPCG(v.chance, 2))
	for range v.commits {
		j, err := tablewriter.OpenJob(ctx, table, tablewriter.JobOptions{
			Full:   v.full || r.IntN(2) == 0,
			Writer: tablewriter.Options{User: workload.Compactor, LookupDir: v.lookup},
		})
		if err != nil {
			return err
		}
		if _, err := j.Run(ctx); err != nil {
			return err
		}
		if err := j.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// deadly returns a store whose calls kill the process, as the flags say.
func (v *victim) deadly(inner objstore.Store) objstore.Store {
	if v.call > 0 {
		return faultstore.New(inner, faultstore.Rule{Call: v.call, Mode: faultstore.Pass, Hook: func(faultstore.Call) { die() }})
	}
	if v.snapshot > 0 {
		return &snapshotStore{Store: inner, left: v.snapshot, after: v.after}
	}
	return inner
}

// snapshotStore kills the process when it puts a snapshot. Commits of a process
// come one after the other.
type snapshotStore struct {
	objstore.Store
	left  int
	after bool
}

func (s *snapshotStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if _, base := objstore.SplitName(name); !strings.HasPrefix(base, "snapshot-") {
		return s.Store.PutIfAbsent(ctx, name, data)
	}
	s.left--
	if s.left == 0 && !s.after {
		die()
	}
	err := s.Store.PutIfAbsent(ctx, name, data)
	if s.left == 0 {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // it is dead before it sees this
}
