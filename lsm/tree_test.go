package lsm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// tree is a bucket whose files are in memory, with an index that is a map. After
// each compaction it checks what must hold whatever was compacted.
type tree struct {
	t        require.TestingT
	ctx      context.Context
	levels   *Levels
	picker   *Picker
	producer producer.Producer
	job      *Job
	opts     CompactionOptions
	index    index
	files    map[string][]byte
	names    int
	seq      int64 // of the next record
	now      time.Time
}

// treeSpec says what a tree is like.
type treeSpec struct {
	producer string // none, lookup, first-row, full
	engine   merge.Engine
	order    merge.Order
	levels   int
	pick     PickOptions
	opts     CompactionOptions
	dedup    bool // row-deduplicate
	runsMax  int
	spillDir string
	batch    int
}

func newTree(ctx context.Context, t require.TestingT, spec treeSpec) *tree {
	f := &tree{t: t, ctx: ctx, files: map[string][]byte{}, opts: spec.opts, index: index{t: t}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	layout := datafile.Layout{Schema: scriptType, Key: []int{0}}
	var err error
	f.levels, err = NewLevels(scriptType.Project([]int{0}), spec.levels, nil)
	require.NoError(t, err)
	f.picker = NewPicker(spec.pick, time.Time{})
	o := producer.Options{Engine: spec.engine, Order: spec.order, Key: []int{0}, RowDeduplicate: spec.dedup}
	switch spec.producer {
	case "lookup":
		f.producer = producer.NewLookup(o, &f.index)
	case "first-row":
		f.producer = producer.NewFirstRow(o, &f.index)
	case "full":
		f.producer = producer.NewFullCompaction(o)
	default:
		f.producer = producer.None{}
	}
	name := func(prefix string) func() string {
		return func() string { f.names++; return fmt.Sprintf("%s-%d", prefix, f.names) }
	}
	f.job = &Job{
		Layout: layout, Order: spec.order, Engine: spec.engine, Resolver: f.producer,
		Data: Files{Name: name("data")}, Changelog: Files{Name: name("changelog")},
		Create: f.create, Open: f.open, RunsMax: spec.runsMax, Spill: SpillOptions{Dir: spec.spillDir}, BatchRows: spec.batch,
		Progress: &Progress{},
	}
	if f.indexed() {
		f.job.Index = &f.index
	}
	return f
}

// indexed tells whether the producer needs an index.
func (f *tree) indexed() bool {
	switch f.producer.(type) {
	case *producer.Lookup, *producer.FirstRow:
		return true
	}
	return false
}

type treeFile struct {
	bytes.Buffer
	f    *tree
	name string
}

func (w *treeFile) Finish(context.Context) error { w.f.files[w.name] = w.Bytes(); return nil }
func (w *treeFile) Abort() error                 { return nil }

func (f *tree) create(_ context.Context, name string) (datafile.Sink, error) {
	return &treeFile{f: f, name: name}, nil
}

func (f *tree) open(_ context.Context, file *File) (merge.Source, error) {
	return f.reader(&file.DataFile, 7)
}

func (f *tree) reader(file *manifest.DataFile, batch int) (*datafile.Reader, error) {
	data, ok := f.files[file.FileName]
	if !ok {
		return nil, fmt.Errorf("file %s is gone", file.FileName)
	}
	return datafile.Open(bytes.NewReader(data), int64(len(data)), file.FileName, datafile.ReadSpec{
		Want: scriptType, File: scriptType, System: true, BatchRows: batch,
	})
}

// rows reads a file.
func (f *tree) rows(file *manifest.DataFile) *rowdata.KeyValues {
	r, err := f.reader(file, 1000)
	require.NoError(f.t, err)
	all, kv := rowdata.NewKeyValues(scriptType, 0), rowdata.NewKeyValues(scriptType, 0)
	for {
		_, err := r.Next(kv)
		if err == io.EOF {
			break
		}
		require.NoError(f.t, err)
		all.AppendRange(kv, 0, kv.N)
	}
	require.NoError(f.t, r.Close())
	require.Equal(f.t, file.RowCount, int64(all.N))
	return all
}

// flush writes records, numbered on, as a level-0 file.
func (f *tree) flush(records *rowdata.KeyValues) {
	f.putFile(records, 0)
}

// putFile writes a file of a level. Those of higher levels are put first, so that
// the index has the newest.
func (f *tree) putFile(records *rowdata.KeyValues, level int32) {
	w := datafile.NewRollingWriter(f.create, f.job.Data.Name, f.job.Layout, datafile.Options{Level: level})
	require.NoError(f.t, w.Write(f.ctx, records, 0, records.N))
	files, err := w.Close(f.ctx)
	require.NoError(f.t, err)
	require.NoError(f.t, f.levels.Update(nil, files))
	if level > 0 && f.indexed() {
		require.NoError(f.t, f.index.Put(records, 0, records.N))
		f.index.commit()
	}
}

// compact runs what is picked, if anything, and puts its result into effect.
func (f *tree) compact(pick Pick, ok bool, buffer *Buffer) *CompactResult {
	if !ok {
		return nil
	}
	c := NewCompaction(f.runs(buffer), f.levels.Top(), pick, f.producer, f.opts)
	for _, s := range c.Steps {
		require.NotEqual(f.t, s.File == nil, len(s.Sections) == 0)
	}
	result, err := c.Run(f.ctx, f.job)
	require.NoError(f.t, err)
	require.NoError(f.t, f.levels.Update(result.Before, result.After))
	f.index.commit()
	for _, b := range result.Before {
		if !slices.ContainsFunc(result.After, func(a manifest.DataFile) bool { return a.FileName == b.FileName }) {
			delete(f.files, b.FileName)
		}
	}
	f.check(&result)
	if l, ok := f.t.(interface{ Logf(string, ...any) }); ok {
		l.Logf("%s to level %d of %d, %d runs: %d files to %d, changelog of %d", pick.Reason, pick.Output, f.levels.Top(), pick.Runs, len(result.Before), len(result.After), result.Stats.ChangelogRows)
	}
	return &result
}

func (f *tree) runs(buffer *Buffer) []Run {
	runs := f.levels.Runs()
	if buffer != nil {
		runs = append([]Run{buffer.Run()}, runs...)
	}
	return runs
}

// check checks the files of a result, and the index against all files.
func (f *tree) check(r *CompactResult) {
	for i := range r.After {
		kv := f.rows(&r.After[i])
		require.NotZero(f.t, kv.N)
		require.NotZero(f.t, r.After[i].Level)
		for k := 1; k < kv.N; k++ {
			require.Less(f.t, kv.Cols[0].I32[k-1], kv.Cols[0].I32[k], "keys of %s", r.After[i].FileName)
		}
	}
	for i := range r.Changelog {
		require.NotZero(f.t, r.Changelog[i].RowCount)
	}
	if !f.indexed() {
		require.Zero(f.t, f.index.kv)
		return
	}
	want := map[int32]string{}
	for level := int32(1); level <= f.levels.Top(); level++ {
		for _, file := range f.levels.Level(level) {
			kv := f.rows(&file.DataFile)
			for i := range kv.N {
				if key := kv.Cols[0].I32[i]; want[key] == "" {
					want[key] = recordText(kv, i)
				}
			}
		}
	}
	got := map[int32]string{}
	for key, i := range f.index.at {
		got[key] = recordText(f.index.kv, i)
	}
	require.Equal(f.t, want, got, "the index")
}

func recordText(kv *rowdata.KeyValues, i int) string {
	return fmt.Sprintf("%s #%d %s", kv.Kinds[i], kv.Seq[i], rowdata.AppendJSONArray(nil, &kv.Batch, i))
}

// index is the newest records above level 0.
type index struct {
	t     require.TestingT
	kv    *rowdata.KeyValues
	at    map[int32]int
	stage []func()
	last  *int32
	asked int
}

func (x *index) commit() {
	for _, apply := range x.stage {
		apply()
	}
	x.stage, x.last = nil, nil
}

// ascend checks the order of the changes of a compaction.
func (x *index) ascend(key int32) {
	if x.last != nil {
		require.Greater(x.t, key, *x.last, "changes of the index are not in key order")
	}
	x.last = &key
}

func (x *index) Put(kv *rowdata.KeyValues, from, to int) error {
	if x.kv == nil {
		x.kv, x.at = rowdata.NewKeyValues(scriptType, 0), map[int32]int{}
	}
	require.Less(x.t, from, to)
	for i := from; i < to; i++ {
		key := kv.Cols[0].I32[i]
		x.ascend(key)
		one := rowdata.NewKeyValues(scriptType, 1)
		one.AppendFrom(kv, i)
		x.stage = append(x.stage, func() {
			x.at[key] = x.kv.N
			x.kv.AppendFrom(one, 0)
		})
	}
	return nil
}

func (x *index) Delete(b *rowdata.Batch, rows []int32) error {
	for _, i := range rows {
		key := b.Cols[0].I32[i]
		x.ascend(key)
		x.stage = append(x.stage, func() {
			_, ok := x.at[key]
			require.True(x.t, ok, "key %d is deleted from the index and is not in it", key)
			delete(x.at, key)
		})
	}
	return nil
}

func (x *index) Lookup(_ context.Context, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	for i, row := range rows {
		x.asked++
		found[i] = -1
		if at, ok := x.at[b.Cols[0].I32[row]]; ok {
			found[i] = int32(dst.N)
			dst.AppendFrom(x.kv, at)
		}
	}
	return nil
}
