package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/interop/casefile"
	"sluice/interop/histories/invariant"
	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// Options say how a case is run.
type Options struct {
	// Straight lets writers of lookup tables write directly above level 0; then the
	// kinds of snapshots are not those of a writer that writes level 0 first.
	Straight bool
	// Defaults are table options that hold unless the case has others.
	Defaults map[string]string
	// Unwaited lets commits go on while buckets are compacted, unless their step asks
	// for a compaction: what they deliver hangs on timing then.
	Unwaited bool
	// Shards of the writer; 1 if 0.
	Shards int
	// Store has the table; one in memory if nil.
	Store objstore.Store
}

// HistoryDefaults are the options of tables of histories, which decide together
// with the format on the sizes of files.
func HistoryDefaults() map[string]string {
	return map[string]string{"file.format": "avro", "write-buffer-size": "8 mb"}
}

// UnbuiltError says that a case needs something that is not there yet.
type UnbuiltError struct{ What string }

func (e *UnbuiltError) Error() string { return "not built: " + e.What }

// Answer does what a case says and notes what comes of it. An error that the
// engine gives is part of the answer; the error that is returned is an
// [*UnbuiltError], or that of the runner itself.
func (e *Env) Answer(ctx context.Context, c *casefile.Case, o Options) (*casefile.Answer, error) {
	if o.Store == nil {
		o.Store = memstore.New(memstore.Options{})
	}
	r := &runner{env: e, c: c, o: o, a: &casefile.Answer{Name: c.Name}}
	if slices.ContainsFunc(c.Steps, func(s casefile.Step) bool { return s.Crash }) {
		r.faults = faultstore.New(o.Store)
		r.o.Store = r.faults
	}
	err := r.run(ctx)
	if closeErr := r.closeWriters(ctx); err == nil && r.a.Error == nil {
		err = closeErr
	}
	return r.a, err
}

type runner struct {
	env   *Env
	c     *casefile.Case
	o     Options
	a     *casefile.Answer
	cat   *paimon.Catalog
	table *paimon.Table
	w     *tablewriter.Writer // of the commit; nil: not open
	check *invariant.Checker  // nil if the changelog need not be complete
	next  int64               // first snapshot not read yet

	writer int                         // number of w
	others map[int]*tablewriter.Writer // that are open
	faults *faultstore.Store           // below the table, if there are crashes
}

const tableName = "db.t"

// failed notes an error of the engine, and returns what is no answer: that a part
// is not built.
func (r *runner) failed(at string, err error) error {
	var unsupported *tablewriter.UnsupportedError
	var unbuilt *UnbuiltError
	switch {
	case errors.As(err, &unsupported):
		return &UnbuiltError{unsupported.What}
	case errors.As(err, &unbuilt):
		return err
	}
	r.a.Error = &casefile.Error{At: at, Class: fmt.Sprintf("%T", err), Message: err.Error(), Cause: err}
	return nil
}

func (r *runner) run(ctx context.Context) error {
	r.cat = paimon.NewCatalog(r.o.Store, "warehouse")
	if err := r.cat.CreateDatabase(ctx, "db"); err != nil {
		return err
	}
	options := map[string]string{"bucket": "1"}
	maps.Copy(options, r.o.Defaults)
	maps.Copy(options, r.c.Options)
	t, err := r.cat.CreateTable(ctx, tableName, paimon.SchemaSpec{Schema: r.c.Schema, Options: options})
	if err != nil {
		return r.failed("create", err)
	}
	r.table, r.next = t, 1
	if invariant.Complete(t.Schema()) {
		if r.check, err = invariant.NewChecker(t); err != nil {
			return err
		}
	}
	for i := range r.c.Commits {
		at := fmt.Sprint(i + 1)
		if err := r.commit(ctx, i); err != nil {
			return r.failed(at, err)
		}
		if err := r.follow(ctx); err != nil {
			return r.failed(at, fmt.Errorf("changes of commit %d: %w", i+1, err))
		}
	}
	if err := r.finish(ctx); err != nil {
		r.a.Final = nil
		return r.failed("read", err)
	}
	return nil
}

// commit does what one commit of the case is.
func (r *runner) commit(ctx context.Context, i int) error {
	s := r.c.StepOf(i)
	r.turnTo(s.Writer)
	if err := r.before(ctx, i, s); err != nil {
		return err
	}
	if s.User != "" {
		return r.compactor(ctx, s)
	}
	overwrite := s.Mode == "overwrite"
	if overwrite || len(s.Alter) > 0 || len(s.Dynamic) > 0 {
		if err := r.closeWriters(ctx); err != nil {
			return err
		}
	}
	if s.Reopen {
		if err := r.closeWriter(ctx); err != nil {
			return err
		}
	}
	if err := r.alter(ctx, s.Alter); err != nil {
		return err
	}
	if err := r.dynamic(ctx, s.Dynamic); err != nil {
		return err
	}
	if err := r.open(ctx, overwrite); err != nil {
		return err
	}
	rows, err := r.rows(i)
	if err != nil {
		return err
	}
	if err := r.write(ctx, rows, r.mode(i)); err != nil {
		return err
	}
	if overwrite || len(s.Dynamic) > 0 {
		if err := r.closeWriter(ctx); err != nil {
			return err
		}
	}
	return r.reset(ctx, s.Dynamic)
}

// mode is how a commit compacts. What nobody waits for is waited for too, so that
// an answer does not hang on timing: such a compaction ends at once, as it does in
// the runner of the other engine.
//
// A full compaction concerns the buckets that rows were written to. A commit
// without rows means all buckets, unless there are partitions.
func (r *runner) mode(i int) tablewriter.CompactMode {
	switch asked := r.c.StepOf(i).Compact; {
	case asked == "full" && (len(r.c.Commits[i]) > 0 || len(r.c.Schema.Partition) == 0):
		return tablewriter.CompactFull
	case asked == "" && r.o.Unwaited:
		return tablewriter.CompactNone
	}
	return tablewriter.CompactWait
}

func (r *runner) write(ctx context.Context, rows *rowdata.Changes, mode tablewriter.CompactMode) error {
	var receipt *tablewriter.Receipt
	if rows.N > 0 {
		var err error
		if receipt, err = r.w.Write(ctx, rows, tablewriter.Position{}); err != nil {
			return err
		}
	}
	if _, err := r.w.CommitWith(ctx, mode); err != nil {
		return err
	}
	if receipt != nil {
		_, err := receipt.Wait(ctx)
		return err
	}
	return nil
}

// rows are those of a commit, with the filler of the case before those of the
// first.
func (r *runner) rows(i int) (*rowdata.Changes, error) {
	rows := &rowdata.Changes{Batch: *rowdata.NewBatch(r.w.Type(), len(r.c.Commits[i]))}
	if i == 0 {
		if err := r.fill(rows); err != nil {
			return nil, err
		}
	}
	for _, row := range r.c.Commits[i] {
		kind, err := rowdata.ParseRowKind(row.Kind)
		if err != nil {
			return nil, err
		}
		if err := rowdata.AppendJSONRow(&rows.Batch, row.Row); err != nil {
			return nil, err
		}
		rows.Kinds = append(rows.Kinds, kind)
	}
	return rows, nil
}

func (r *runner) open(ctx context.Context, overwrite bool) error {
	if r.w != nil {
		return nil
	}
	o := tablewriter.Options{
		User: "case", CommitInterval: time.Hour, Shards: max(r.o.Shards, 1), Lookup: r.env.cache,
		Compactions: r.env.compactions, StraightOff: !r.o.Straight,
	}
	if r.writer > 0 {
		o.User = fmt.Sprint(o.User, r.writer)
		o.Lookup, o.LookupDir = nil, filepath.Join(r.env.dir, o.User)
	}
	if overwrite {
		o.User, o.Overwrite = "case-overwrite", &commit.Overwrite{Dynamic: true}
	}
	w, err := tablewriter.Open(ctx, r.table, o)
	if err != nil {
		return err
	}
	r.w = w
	return nil
}

func (r *runner) alter(ctx context.Context, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
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
	if r.check != nil {
		r.check.Use(t)
	}
	return nil
}

// dynamic sets options for one commit; reset takes them back.
func (r *runner) dynamic(ctx context.Context, options map[string]string) error {
	var texts []string
	for k, v := range options {
		texts = append(texts, "set option "+k+"="+v)
	}
	return r.alter(ctx, texts)
}

func (r *runner) reset(ctx context.Context, options map[string]string) error {
	var texts []string
	for k := range options {
		if v, ok := r.c.Options[k]; ok {
			texts = append(texts, "set option "+k+"="+v)
		} else {
			texts = append(texts, "reset option "+k)
		}
	}
	return r.alter(ctx, texts)
}

// follow reads the changes of the snapshots made since the last call.
func (r *runner) follow(ctx context.Context) error {
	latest, err := r.table.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		latest = 0
	} else if err != nil {
		return err
	}
	kinds := []string{}
	for id := r.next; id <= latest; id++ {
		s, err := r.table.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		kinds = append(kinds, string(s.CommitKind))
	}
	r.a.Kinds = append(r.a.Kinds, kinds)
	changes := []casefile.Change{}
	if latest >= r.next {
		if changes, err = r.changes(ctx, r.next, latest); err != nil {
			return err
		}
	}
	r.a.Changelog = append(r.a.Changelog, changes)
	r.next = latest + 1
	if r.check != nil {
		problems, err := r.check.Through(ctx, latest)
		if err != nil {
			return err
		}
		r.a.Folds = append(r.a.Folds, problems...)
	}
	return nil
}

// changes reads what a streaming reader gets from some snapshots.
func (r *runner) changes(ctx context.Context, from, to int64) ([]casefile.Change, error) {
	tail, err := snapshotreader.Open(ctx, r.table, snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: from},
		snapshotreader.Options{Until: snapshotreader.Until{Mode: snapshotreader.UntilSnapshot, Snapshot: to}})
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	several := len(r.c.Schema.Partition) > 0 || r.table.Schema().Buckets() != 1
	out := []casefile.Change{}
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
			row, err := casefile.Decode(rowdata.AppendJSONArray(nil, &b.Rows.Batch, i))
			if err != nil {
				return nil, err
			}
			c := casefile.Change{Kind: b.Rows.Kind(i).String(), Row: row}
			if several {
				c.Partition, c.Bucket = strings.TrimSuffix(r.table.PartitionText(b.Partition), "/"), int(b.Bucket)
			}
			out = append(out, c)
		}
	}
}

// finish reads the table and what else the case asks for.
func (r *runner) finish(ctx context.Context) error {
	r.a.Final = []any{}
	s, err := r.table.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	scan, err := snapshotreader.Scan(ctx, r.table, s, snapshotreader.ScanSpec{Schema: r.table.Schema()})
	if err != nil {
		return err
	}
	defer scan.Close()
	for {
		b, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i := range b.Rows.N {
			if r.isFiller(&b.Rows.Batch, i) {
				continue
			}
			row, err := casefile.Decode(rowdata.AppendJSONArray(nil, &b.Rows.Batch, i))
			if err != nil {
				return err
			}
			r.a.Final = append(r.a.Final, row)
		}
	}
	if err := r.incremental(ctx, s.ID); err != nil {
		return err
	}
	if r.c.Sequence != nil {
		return r.sequences(ctx, s.ID)
	}
	return nil
}
