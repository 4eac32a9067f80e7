package paimonfeed

import (
	"context"

	"sluice/feeds"
	"sluice/paimon"
	"sluice/snapshotreader"
)

// source is a tailer as feeds see it.
type source struct {
	t      *Table
	table  *paimon.Table
	tail   *snapshotreader.Tailer
	schema *feeds.Schema
	commit *feeds.Commit // of the last batch
	of     *paimon.Schema
	part   []byte // partition of the last batch, and its text
	text   string
}

// Next implements [feeds.Source].
func (s *source) Next(ctx context.Context) (*feeds.Batch, error) {
	b, err := s.tail.Next(ctx)
	if err != nil {
		return nil, err
	}
	if b.Schema != s.of {
		s.of, s.schema = b.Schema, s.t.schemaOf(b.Schema)
	}
	if s.commit == nil || s.commit.Snapshot != b.Snapshot.ID || s.commit.Phase != b.Phase {
		s.commit = commitOf(b.Snapshot, b.Phase)
	}
	out := &feeds.Batch{
		Commit: s.commit, Schema: s.schema, Bucket: b.Bucket, Rows: b.Rows, At: b.At, Next: b.Next, First: b.First, Last: b.Last,
	}
	if b.Rows.N > 0 {
		if s.part == nil || string(s.part) != string(b.Partition) {
			s.part, s.text = b.Partition, s.table.PartitionText(b.Partition)
		}
		out.Partition = s.text
	}
	return out, nil
}

func commitOf(s *paimon.Snapshot, phase feeds.Phase) *feeds.Commit {
	c := &feeds.Commit{
		Snapshot: s.ID, Time: s.Time(), Kind: string(s.CommitKind), Phase: phase, User: s.CommitUser, Identifier: s.CommitIdentifier,
	}
	if w, ok := s.EventTime(); ok {
		c.Watermark = &w
	}
	return c
}

// Cursor implements [feeds.Source].
func (s *source) Cursor() feeds.Cursor { return s.tail.Cursor() }

// Schema implements [feeds.Source].
func (s *source) Schema() *feeds.Schema { return s.schema }

// Poke implements [feeds.Source].
func (s *source) Poke() { s.tail.Poke() }

// Close implements [feeds.Source].
func (s *source) Close() error { return s.tail.Close() }
