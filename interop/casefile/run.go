package casefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// Status is how a case ended.
type Status int

// The ways a case can end.
const (
	Passed Status = iota
	Failed
	Skipped // needs a part that is not built; Detail names it
)

// Result of a case.
type Result struct {
	Status Status
	Detail string
}

// unbuilt is a case that needs something that is not there yet.
type unbuilt struct{ what string }

func (e *unbuilt) Error() string { return e.what }

// Run runs one case on a table in memory.
func Run(ctx context.Context, c *Case) Result {
	r := &runner{c: c, store: memstore.New(memstore.Options{})}
	detail, err := r.run(ctx)
	r.close(ctx)
	var skip *unbuilt
	switch {
	case errors.As(err, &skip):
		return Result{Status: Skipped, Detail: skip.what}
	case err != nil:
		return Result{Status: Failed, Detail: err.Error()}
	case detail != "":
		return Result{Status: Failed, Detail: detail}
	}
	return Result{}
}

type runner struct {
	c     *Case
	store objstore.Store
	cat   *paimon.Catalog
	table *paimon.Table
	w     *tablewriter.Writer
	next  int64 // first snapshot not read yet
	made  int   // commits done
}

const tableName = "db.t"

// run returns a description of the first difference, or "".
func (r *runner) run(ctx context.Context) (string, error) {
	r.cat = paimon.NewCatalog(r.store, "warehouse")
	if err := r.cat.CreateDatabase(ctx, "db"); err != nil {
		return "", err
	}
	options := map[string]string{"bucket": "1"}
	maps.Copy(options, r.c.Options)
	t, err := r.cat.CreateTable(ctx, tableName, paimon.SchemaSpec{Schema: r.c.Schema, Options: options})
	if r.c.Error != nil && fmt.Sprint(r.c.Error.At) == "create" {
		return r.expectError(err, "create")
	}
	if err != nil {
		return "", err
	}
	r.table, r.next = t, 1
	for i := range r.c.Commits {
		want, err := changeLines(at(r.c.Changelog, i))
		if err != nil {
			return "", err
		}
		err = r.commit(ctx, i)
		if r.c.Error != nil && fmt.Sprint(r.c.Error.At) == fmt.Sprint(i+1) {
			return r.expectError(err, fmt.Sprintf("commit %d", i+1))
		}
		if err != nil {
			return "", fmt.Errorf("commit %d: %w", i+1, err)
		}
		got, kinds, err := r.follow(ctx)
		if err != nil {
			return "", fmt.Errorf("changelog of commit %d: %w", i+1, err)
		}
		if d := differ(fmt.Sprintf("changelog of commit %d", i+1), want, got, r.c.Order == "any"); d != "" {
			return d, nil
		}
		if r.c.Kinds != nil {
			if d := differ(fmt.Sprintf("snapshots of commit %d", i+1), r.c.Kinds[i], kinds, false); d != "" {
				return d, nil
			}
		}
	}
	if d, err := r.incremental(ctx); d != "" || err != nil {
		return d, err
	}
	return r.final(ctx)
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (r *runner) expectError(err error, where string) (string, error) {
	if err == nil {
		return fmt.Sprintf("%s: expected an error with %q, got none", where, r.c.Error.Contains), nil
	}
	var skip *unbuilt
	if errors.As(err, &skip) {
		return "", err
	}
	text := r.c.Error.Contains + r.c.Error.Text
	if !strings.Contains(err.Error(), text) {
		return fmt.Sprintf("%s: expected an error with %q, got: %v", where, text, err), nil
	}
	return "", nil
}

func (r *runner) step(i int) Step {
	if i < len(r.c.Steps) {
		return r.c.Steps[i]
	}
	return Step{}
}

// needs returns what a commit needs that is not built.
func (r *runner) needs(s Step) string {
	schema := r.table.Schema()
	switch {
	case s.Compact == "full", s.Compact == "wait":
		return "compaction"
	case schema.HasPrimaryKey() && schema.MergeEngine() != paimon.Deduplicate:
		return "merge engine " + string(schema.MergeEngine())
	case schema.ChangelogProducer() == paimon.ProducerLookup, schema.ChangelogProducer() == paimon.ProducerFullCompaction:
		return "changelog producer " + string(schema.ChangelogProducer())
	case schema.DeletionVectors():
		return "writing deletion vectors"
	case schema.Options.Text(paimon.OptForceLookup) == "true", schema.Options.Text(paimon.OptCompactionForceUpLevel0) == "true":
		return "compaction"
	}
	return ""
}

// commit writes the rows of one commit.
func (r *runner) commit(ctx context.Context, i int) error {
	s := r.step(i)
	if r.c.Error == nil || fmt.Sprint(r.c.Error.At) != fmt.Sprint(i+1) {
		if what := r.needs(s); what != "" {
			return &unbuilt{what}
		}
	}
	overwrite := s.Mode == "overwrite"
	if s.Reopen || overwrite || len(s.Alter) > 0 || len(s.Dynamic) > 0 {
		if err := r.closeWriter(ctx); err != nil {
			return err
		}
	}
	if len(s.Alter) > 0 {
		if err := r.alter(ctx, s.Alter); err != nil {
			return err
		}
	}
	if err := r.open(ctx, overwrite); err != nil {
		return err
	}
	rows := &rowdata.Changes{Batch: *rowdata.NewBatch(r.w.Type(), len(r.c.Commits[i]))}
	if i == 0 {
		if err := r.fill(rows); err != nil {
			return err
		}
	}
	for _, row := range r.c.Commits[i] {
		kind, err := rowdata.ParseRowKind(row.Kind)
		if err != nil {
			return err
		}
		x, err := asJSON(row.Row)
		if err != nil {
			return err
		}
		if err := rowdata.AppendJSONRow(&rows.Batch, x); err != nil {
			return err
		}
		rows.Kinds = append(rows.Kinds, kind)
	}
	receipt, err := r.w.Write(ctx, rows, tablewriter.Position{})
	if err != nil {
		return r.translate(err)
	}
	if _, err := r.w.Commit(ctx); err != nil {
		return err
	}
	if _, err = receipt.Wait(ctx); err == nil && overwrite {
		err = r.closeWriter(ctx)
	}
	return err
}

// fill puts the case's filler rows in front.
func (r *runner) fill(rows *rowdata.Changes) error {
	for k := range r.c.Filler {
		x := make([]any, len(rows.Cols))
		n, err := asJSON(100_000 + k)
		if err != nil {
			return err
		}
		x[0] = n
		if err := rowdata.AppendJSONRow(&rows.Batch, x); err != nil {
			return err
		}
		rows.Kinds = append(rows.Kinds, rowdata.Insert)
	}
	return nil
}

func (r *runner) open(ctx context.Context, overwrite bool) error {
	if r.w != nil {
		return nil
	}
	o := tablewriter.Options{User: "case", CommitInterval: time.Hour, Shards: 1}
	if overwrite {
		o.User, o.Overwrite = "case-overwrite", &commit.Overwrite{}
	}
	w, err := tablewriter.Open(ctx, r.table, o)
	if err != nil {
		return r.translate(err)
	}
	r.w = w
	return nil
}

// translate tells what is not built from what is wrong.
func (r *runner) translate(err error) error {
	var u *tablewriter.UnsupportedError
	if errors.As(err, &u) {
		return &unbuilt{u.What}
	}
	if what := r.needs(Step{}); what != "" && strings.Contains(err.Error(), "not") && !errors.As(err, new(*tablewriter.RowError)) {
		return &unbuilt{what}
	}
	return err
}

func (r *runner) alter(ctx context.Context, texts []string) error {
	for _, text := range texts {
		ch, err := paimon.ParseChange(text)
		if err != nil {
			return err
		}
		if _, err := r.cat.AlterTable(ctx, tableName, []paimon.Change{ch}); err != nil {
			return err
		}
	}
	t, err := r.cat.OpenTable(ctx, tableName)
	if err != nil {
		return err
	}
	r.table = t
	return nil
}

func (r *runner) closeWriter(ctx context.Context) error {
	if r.w == nil {
		return nil
	}
	err := r.w.Close(ctx)
	r.w = nil
	return err
}

func (r *runner) close(ctx context.Context) { _ = r.closeWriter(ctx) }

// isFiller tells whether a row is one of the filler's.
func (r *runner) isFiller(b *rowdata.Batch, i int) bool {
	if r.c.Filler == 0 || b.Cols[0].Storage() != rowdata.StoreI32 {
		return false
	}
	k := int(b.Cols[0].I32[i]) - 100_000
	return k >= 0 && k < r.c.Filler
}

// follow reads the changes of the snapshots made since the last call.
func (r *runner) follow(ctx context.Context) (changes, kinds []string, err error) {
	latest, err := r.table.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if latest < r.next {
		return nil, nil, nil
	}
	for id := r.next; id <= latest; id++ {
		s, err := r.table.Snapshot(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		kinds = append(kinds, string(s.CommitKind))
	}
	changes, err = r.changes(ctx, r.next, latest)
	r.next = latest + 1
	return changes, kinds, err
}

func (r *runner) changes(ctx context.Context, from, to int64) ([]string, error) {
	tail, err := snapshotreader.Open(ctx, r.table, snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: from},
		snapshotreader.Options{Until: snapshotreader.Until{Mode: snapshotreader.UntilSnapshot, Snapshot: to}})
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	var out []string
	for {
		b, err := tail.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows.N {
			if r.isFiller(&b.Rows.Batch, i) {
				continue
			}
			row, err := decode(rowdata.AppendJSONArray(nil, &b.Rows.Batch, i))
			if err != nil {
				return nil, err
			}
			out = append(out, b.Rows.Kind(i).String()+canonical(row))
		}
	}
}

// incremental checks the batch reads of ranges: start exclusive, end inclusive.
func (r *runner) incremental(ctx context.Context) (string, error) {
	for _, in := range r.c.Reads {
		want, err := changeLines(in.Rows)
		if err != nil {
			return "", err
		}
		var got []string
		if in.Between[0] < in.Between[1] {
			if got, err = r.changes(ctx, in.Between[0]+1, in.Between[1]); err != nil {
				return "", err
			}
		}
		if d := differ(fmt.Sprintf("changes between %v", in.Between), want, got, in.Order == "any"); d != "" {
			return d, nil
		}
	}
	return "", nil
}

// final compares the table after the last commit.
func (r *runner) final(ctx context.Context) (string, error) {
	var want, got []string
	for _, row := range r.c.Final {
		x, err := asJSON(row)
		if err != nil {
			return "", err
		}
		want = append(want, canonical(x))
	}
	s, err := r.table.LatestSnapshot(ctx)
	if err != nil && !errors.Is(err, paimon.ErrNoSnapshot) {
		return "", err
	}
	if err == nil {
		if got, err = r.rows(ctx, s); err != nil {
			return "", err
		}
	}
	return differ("final rows", want, got, true), nil
}

func (r *runner) rows(ctx context.Context, s *paimon.Snapshot) ([]string, error) {
	scan, err := snapshotreader.Scan(ctx, r.table, s, snapshotreader.ScanSpec{Schema: r.table.Schema()})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	var out []string
	for {
		b, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows.N {
			if r.isFiller(&b.Rows.Batch, i) {
				continue
			}
			row, err := decode(rowdata.AppendJSONArray(nil, &b.Rows.Batch, i))
			if err != nil {
				return nil, err
			}
			out = append(out, canonical(row))
		}
	}
}
