package datafile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Sink is where the bytes of a file go. Exactly one of Finish and Abort is
// called, once. After Finish the file is durable and there under its name.
type Sink interface {
	io.Writer
	Finish(ctx context.Context) error
	Abort() error
}

// sinks takes the bytes of a file to each sink and counts them.
type sinks struct {
	to   []Sink
	size int64
}

func (s *sinks) Write(b []byte) (int, error) {
	for _, sink := range s.to {
		if n, err := sink.Write(b); err != nil {
			return n, err
		}
	}
	s.size += int64(len(b))
	return len(b), nil
}

// file is one file, or several of the same bytes, being written.
type file struct {
	plan  *plan
	out   sinks
	names []string // one a sink
	enc   encoder

	rows, deletes  int64
	minSeq, maxSeq int64
	minKey, maxKey []byte
}

// columns are the vectors that a file needs beside those of the batch. They are
// reused for all files of a writer.
type columns struct {
	all       []*rowdata.Vector
	key       []*rowdata.Vector
	seq, kind *rowdata.Vector
}

func newColumns() columns {
	return columns{seq: rowdata.NewVector(sequenceType, 0), kind: rowdata.NewVector(kindType, 0)}
}

// lineUp returns the physical columns of rows from..to of kv; other rows of the
// system columns are not set.
func (c *columns) lineUp(l Layout, kv *rowdata.KeyValues, from, to int) ([]*rowdata.Vector, error) {
	if l.Key == nil {
		for i, k := range kv.Kinds {
			if i >= from && i < to && k != rowdata.Insert {
				return nil, fmt.Errorf("row %d of kind %s: an append table takes only %s", i, k, rowdata.Insert)
			}
		}
		return kv.Cols, nil
	}
	if len(kv.Seq) < to || len(kv.Kinds) < to {
		return nil, fmt.Errorf("batch of %d rows has %d sequence numbers and %d kinds", to, len(kv.Seq), len(kv.Kinds))
	}
	c.seq.I64 = kv.Seq
	c.seq.SetLen(len(kv.Seq))
	c.kind.I32 = slices.Grow(c.kind.I32[:0], to)[:to]
	for i := from; i < to; i++ {
		if kv.Kinds[i] > rowdata.Delete {
			return nil, fmt.Errorf("row %d of unknown kind %s", i, kv.Kinds[i])
		}
		c.kind.I32[i] = int32(kv.Kinds[i])
	}
	c.kind.SetLen(to)
	c.all = l.columns(c.all, &kv.Batch, c.seq, c.kind)
	c.key = c.key[:0]
	for _, k := range l.Key {
		c.key = append(c.key, kv.Cols[k])
	}
	return c.all, nil
}

// write adds rows from..to, whose physical columns c has lined up.
func (f *file) write(c *columns, cols []*rowdata.Vector, kv *rowdata.KeyValues, from, to int) error {
	if err := f.enc.Write(cols, from, to); err != nil {
		return err
	}
	first := f.rows == 0
	f.rows += int64(to - from)
	if f.plan.layout.Key == nil {
		return nil
	}
	if first {
		f.minSeq, f.maxSeq = kv.Seq[from], kv.Seq[from]
		f.minKey = rowdata.AppendManifestRow(f.minKey[:0], c.key, from)
	}
	f.maxKey = rowdata.AppendManifestRow(f.maxKey[:0], c.key, to-1)
	for _, s := range kv.Seq[from:to] {
		f.minSeq, f.maxSeq = min(f.minSeq, s), max(f.maxSeq, s)
	}
	for _, k := range kv.Kinds[from:to] {
		if k.IsRetract() {
			f.deletes++
		}
	}
	return nil
}

// finish ends the file and returns one meta for each sink.
func (f *file) finish(ctx context.Context, counter int64) ([]manifest.DataFile, error) {
	found, err := f.enc.Close()
	if err != nil {
		return nil, errors.Join(err, f.abort())
	}
	for i, sink := range f.out.to {
		if err := sink.Finish(ctx); err != nil {
			f.out.to = f.out.to[i+1:] // the others are still open
			return nil, errors.Join(err, f.abort())
		}
	}
	deletes, source := f.deletes, f.plan.opts.Source
	meta := manifest.DataFile{
		FileSize: f.out.size, RowCount: f.rows, MinKey: f.minKey, MaxKey: f.maxKey, MinSeq: f.minSeq, MaxSeq: f.maxSeq,
		SchemaID: f.plan.layout.SchemaID, Level: f.plan.opts.Level, CreationTime: wallClock(f.plan.opts.Now()), HasCreationTime: true,
		DeleteRowCount: &deletes, Source: &source,
	}
	if f.plan.layout.Key == nil {
		meta.MinKey, meta.MaxKey = rowdata.EmptyManifestRow(), rowdata.EmptyManifestRow()
		meta.MinSeq, meta.MaxSeq = counter, counter+f.rows-1
	}
	f.plan.stats(&meta, found)
	f.plan.opts.Encoders.keep(f.enc, f.plan)
	f.enc = nil
	metas := make([]manifest.DataFile, len(f.names))
	for i, name := range f.names {
		metas[i] = meta
		if i > 0 {
			metas[i] = meta.Clone()
		}
		metas[i].FileName = name
	}
	return metas, nil
}

func (f *file) abort() error {
	var err error
	for _, sink := range f.out.to {
		err = errors.Join(err, sink.Abort())
	}
	f.out.to = nil
	return err
}
