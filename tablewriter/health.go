package tablewriter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/lsm"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// LevelHealth is what a level of a bucket has.
type LevelHealth struct {
	Level int32 `json:"level"`
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	Rows  int64 `json:"rows"` // deletes and older versions included
}

// BucketHealth is the state of a bucket of a table with a primary key.
type BucketHealth struct {
	Partition  string        `json:"partition"` // folder, such as "dt=1/"
	Bucket     int32         `json:"bucket"`
	Runs       int           `json:"runs"`       // sorted runs
	StopRuns   int           `json:"stopRuns"`   // writing waits beyond so many
	SmallFiles int           `json:"smallFiles"` // above level 0, that a compaction would merge with others
	Levels     []LevelHealth `json:"levels"`     // those that have files
	Next       *NextPick     `json:"next"`       // what a compaction would do now; nil: nothing
}

// NextPick is what the table's strategy would compact.
type NextPick struct {
	Runs   int    `json:"runs"` // so many, the newest first
	Bytes  int64  `json:"bytes"`
	Output int32  `json:"output"` // level
	Reason string `json:"reason"`
}

// Health returns the state of each bucket of the newest snapshot, in the order of
// partitions and buckets: none if there is no snapshot. What the picker would do
// is told also for a table whose writers do not compact.
func Health(ctx context.Context, t *paimon.Table, now time.Time) ([]BucketHealth, error) {
	schema := t.Schema()
	if !schema.HasPrimaryKey() {
		return nil, &UnsupportedError{What: "a table without a primary key has no sorted runs"}
	}
	st, err := newStrategy(schema, true)
	if err != nil {
		return nil, err
	}
	snap, err := t.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := t.LiveEntries(ctx, snap, paimon.Filter{})
	if err != nil {
		return nil, err
	}
	files := map[destination][]manifest.DataFile{}
	for i := range entries {
		to := placeOf(&entries[i])
		files[to] = append(files[to], entries[i].File)
	}
	h := &shape{schema: schema, typ: schema.RowType(), strategy: st}
	small, err := h.smallBytes()
	if err != nil {
		return nil, err
	}
	out := make([]BucketHealth, 0, len(files))
	for to, list := range files {
		levels, err := lsm.NewLevels(h.typ.Project(schema.TrimmedKey()), st.numLevels, list)
		if err != nil {
			return nil, err
		}
		b := healthOf(levels, st, small, now)
		b.Partition, b.Bucket = t.PartitionText([]byte(to.partition)), to.bucket
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b BucketHealth) int {
		return cmp.Or(strings.Compare(a.Partition, b.Partition), cmp.Compare(a.Bucket, b.Bucket))
	})
	return out, nil
}

func healthOf(levels *lsm.Levels, st *strategy, small int64, now time.Time) BucketHealth {
	b := BucketHealth{Runs: levels.NumRuns(), StopRuns: st.stopRuns}
	for level := int32(0); level <= levels.Top(); level++ {
		l := LevelHealth{Level: level}
		for _, f := range levels.Level(level) {
			l.Files++
			l.Bytes += f.FileSize
			l.Rows += f.RowCount
			if level > 0 && f.FileSize < small {
				b.SmallFiles++
			}
		}
		if l.Files > 0 {
			b.Levels = append(b.Levels, l)
		}
	}
	runs := levels.Runs()
	if pick, ok := lsm.NewPicker(st.pick, levels.LastFull()).Peek(runs, levels.Top(), now); ok {
		b.Next = &NextPick{Runs: pick.Runs, Output: pick.Output, Reason: string(pick.Reason)}
		for _, r := range runs[:pick.Runs] {
			b.Next.Bytes += r.Size
		}
	}
	return b
}
