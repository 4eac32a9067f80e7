// Package invariant checks a whole table against what holds for every complete
// changelog (semantics section 4.9): folding it from the start gives the table at
// each snapshot, pairs are adjacent, and each -U and -D is the image before. It is
// for any test that made a table with producer lookup or full-compaction.
package invariant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sluice/interop/histories/fold"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// ProblemsMax bounds what [Checker] tells of one snapshot.
const ProblemsMax = 8

// Table checks all snapshots of a table from its first one on; none may have
// expired. It returns what is wrong, snapshot by snapshot.
func Table(ctx context.Context, t *paimon.Table) ([]string, error) {
	latest, err := t.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := NewChecker(t)
	if err != nil {
		return nil, err
	}
	return c.Through(ctx, latest)
}

// Checker follows a table snapshot by snapshot.
type Checker struct {
	t    *paimon.Table
	fold fold.Fold
	next int64
	last *paimon.Schema // of the last snapshot
}

// NewChecker returns a checker that stands before snapshot 1. Only producers
// whose changelog is complete can be checked: others are an error.
func NewChecker(t *paimon.Table) (*Checker, error) {
	if !Complete(t.Schema()) {
		return nil, fmt.Errorf("table %s: changelog of producer %s is not complete", t.Path, t.Schema().ChangelogProducer())
	}
	return &Checker{t: t, next: 1}, nil
}

// Complete tells whether the changelog of a table must fold to the table. Rows that
// grow too old (record-level.expire-time) go without a change.
func Complete(s *paimon.Schema) bool {
	p := s.ChangelogProducer()
	return s.HasPrimaryKey() && (p == paimon.ProducerLookup || p == paimon.ProducerFullCompaction) && !s.DeletionVectors() &&
		!s.Options.Has(paimon.OptRecordLevelExpireTime)
}

// Use makes the checker go on with a table that was opened anew, after a schema
// change.
func (c *Checker) Use(t *paimon.Table) { c.t = t }

// Through checks the snapshots up to and with one, and returns what is wrong.
func (c *Checker) Through(ctx context.Context, latest int64) (problems []string, err error) {
	for ; c.next <= latest; c.next++ {
		found, err := c.snapshot(ctx, c.next)
		if err != nil {
			return problems, fmt.Errorf("snapshot %d: %w", c.next, err)
		}
		if len(found) > ProblemsMax {
			found = append(found[:ProblemsMax], fmt.Sprintf("… and %d more", len(found)-ProblemsMax))
		}
		for _, p := range found {
			problems = append(problems, fmt.Sprintf("snapshot %d: %s", c.next, p))
		}
	}
	return problems, nil
}

func (c *Checker) snapshot(ctx context.Context, id int64) ([]string, error) {
	snap, err := c.t.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	schema, err := c.t.SchemaByID(ctx, snap.SchemaID)
	if err != nil {
		return nil, err
	}
	r := newRenderer(schema)
	c.fold.KindsKept = schema.MergeEngine() == paimon.FirstRow
	if c.last != nil && id > 1 && !sameRows(c.last, schema) {
		// The image in the new columns is what the snapshot before holds in them.
		if err := c.reset(ctx, id-1, schema, r); err != nil {
			return nil, err
		}
	}
	c.last = schema
	if snap.CommitKind == paimon.CommitOverwrite {
		return nil, c.reset(ctx, id, schema, r)
	}
	changes, err := c.changes(ctx, id, r)
	if err != nil {
		return nil, err
	}
	problems := c.fold.Apply(changes)
	problems = append(problems, c.fold.End()...)
	table, err := c.image(ctx, id, schema, r)
	if err != nil {
		return nil, err
	}
	if id > 1 && len(changes) == 0 && c.afterOverwrite(ctx, id) {
		c.fold.Reset(table) // the compaction of an overwrite delivers nothing
		return problems, nil
	}
	return append(problems, c.fold.Equal(table)...), nil
}

// sameRows tells whether rows of two schemas can be compared as they are: the
// columns are the same, and so is what is told of them.
func sameRows(a, b *paimon.Schema) bool {
	return a.ID == b.ID || a.ChangelogProducer() == b.ChangelogProducer() && slices.Equal(IgnoredColumns(a), IgnoredColumns(b)) &&
		slices.EqualFunc(a.Fields, b.Fields, func(x, y rowdata.Field) bool {
			return x.ID == y.ID && x.Name == y.Name && x.Type.String() == y.Type.String()
		})
}

// afterOverwrite tells whether a snapshot belongs to the commit of an overwrite.
func (c *Checker) afterOverwrite(ctx context.Context, id int64) bool {
	this, err := c.t.Snapshot(ctx, id)
	if err != nil {
		return false
	}
	before, err := c.t.Snapshot(ctx, id-1)
	return err == nil && before.CommitKind == paimon.CommitOverwrite && before.CommitUser == this.CommitUser &&
		before.CommitIdentifier == this.CommitIdentifier
}

func (c *Checker) reset(ctx context.Context, id int64, schema *paimon.Schema, r *renderer) error {
	table, err := c.image(ctx, id, schema, r)
	if err == nil {
		c.fold.Reset(table)
	}
	return err
}

// image reads the rows of a snapshot whose changes have been delivered.
func (c *Checker) image(ctx context.Context, id int64, schema *paimon.Schema, r *renderer) (map[string]string, error) {
	snap, err := c.t.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	levels := snapshotreader.ImageLevels(schema.ChangelogProducer())
	scan, err := snapshotreader.Scan(ctx, c.t, snap, snapshotreader.ScanSpec{Schema: schema, Levels: levels})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	out := map[string]string{}
	for {
		b, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows.N {
			key, row := r.render(&b.Rows.Batch, i)
			if old, twice := out[key]; twice {
				return nil, fmt.Errorf("a key is there twice: %s and %s", old, row)
			}
			out[key] = row
		}
	}
}

// changes reads what a snapshot delivers.
func (c *Checker) changes(ctx context.Context, id int64, r *renderer) ([]fold.Change, error) {
	tail, err := snapshotreader.Open(ctx, c.t, snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: id},
		snapshotreader.Options{Until: snapshotreader.Until{Mode: snapshotreader.UntilSnapshot, Snapshot: id}})
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	var out []fold.Change
	for {
		b, err := tail.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows.N {
			key, row := r.render(&b.Rows.Batch, i)
			out = append(out, fold.Change{Kind: b.Rows.Kind(i).String(), Key: key, Row: row})
		}
	}
}

// renderer makes texts of rows: the columns that count, and the key.
type renderer struct{ key, cols []int }

func newRenderer(s *paimon.Schema) *renderer {
	r := &renderer{key: s.KeyCols()}
	ignored := IgnoredColumns(s)
	for i, f := range s.Fields {
		if !slices.Contains(ignored, f.Name) {
			r.cols = append(r.cols, i)
		}
	}
	return r
}

// IgnoredColumns are those whose changes alone are not delivered.
func IgnoredColumns(s *paimon.Schema) []string {
	if s.Options.Text(paimon.OptChangelogRowDeduplicate) != "true" {
		return nil
	}
	return strings.Split(s.Options.Text(paimon.OptChangelogRowDeduplicateIgnore), ",")
}

func (r *renderer) render(b *rowdata.Batch, i int) (key, row string) {
	return text(b, r.key, i), text(b, r.cols, i)
}

func text(b *rowdata.Batch, cols []int, i int) string {
	out := []byte{'['}
	for n, c := range cols {
		if n > 0 {
			out = append(out, ',')
		}
		out = rowdata.AppendJSON(out, b.Cols[c], i)
	}
	return string(append(out, ']'))
}
