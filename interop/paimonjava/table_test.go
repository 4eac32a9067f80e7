//go:build interop

package paimonjava

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// table is a table folder that both sides work on.
type table struct {
	*testing.T
	dir string // for Java
	cat *paimon.Catalog
}

const tableName = "db.t"

// newFolder returns a table that is not created yet.
func newFolder(t *testing.T) *table {
	t.Helper()
	warehouse := t.TempDir()
	cat := paimon.NewCatalog(local.New("/", local.Options{NoSync: true}), strings.TrimPrefix(warehouse, "/"))
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	return &table{T: t, dir: filepath.Join(warehouse, "db.db", "t"), cat: cat}
}

// ours creates a table as we do.
func ours(t *testing.T, spec paimon.SchemaSpec) *table {
	t.Helper()
	f := newFolder(t)
	_, err := f.cat.CreateTable(t.Context(), tableName, spec)
	require.NoError(t, err)
	return f
}

// javas lets Java create the table.
func javas(t *testing.T, spec paimon.SchemaSpec) *table {
	t.Helper()
	f := newFolder(t)
	text, err := json.Marshal(spec) // YAML, too
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "spec.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	f.java("create", f.dir, path)
	return f
}

// java gives Java a command that must succeed.
func (f *table) java(args ...string) []string {
	f.Helper()
	lines, err := java(args...)
	require.NoError(f, err)
	return lines
}

// open opens the table, or a branch of it, as it is now.
func (f *table) open(branch string) *paimon.Table {
	f.Helper()
	t, err := f.cat.OpenBranch(f.Context(), tableName, branch)
	require.NoError(f, err)
	return t
}

// change is a row with its kind. Values are as in JSON, by column position.
type change struct {
	Kind string `json:"kind"`
	Row  []any  `json:"row"`
}

// batch makes rows of the columns of t.
func (f *table) batch(t *rowdata.RowType, changes []change) *rowdata.Changes {
	f.Helper()
	b := &rowdata.Changes{Batch: *rowdata.NewBatch(t, len(changes))}
	for _, c := range changes {
		kind, err := rowdata.ParseRowKind(c.Kind)
		require.NoError(f, err)
		require.NoError(f, rowdata.AppendJSONRow(&b.Batch, c.Row), "%v", c.Row)
		b.Kinds = append(b.Kinds, kind)
	}
	return b
}

// writer opens our writer, which commits only when told to.
func (f *table) writer(branch string) *tablewriter.Writer {
	f.Helper()
	w, err := tablewriter.Open(f.Context(), f.open(branch), tablewriter.Options{
		User: "sluice", CommitInterval: time.Hour, SpillDir: f.TempDir(),
	})
	require.NoError(f, err)
	return w
}

// write commits the changes with a writer of ours, all in one snapshot.
func (f *table) write(changes ...change) { f.Helper(); f.writeTo("", changes...) }

func (f *table) writeTo(branch string, changes ...change) {
	f.Helper()
	w := f.writer(branch)
	f.commit(w, changes...)
	require.NoError(f, w.Close(f.Context()))
}

func (f *table) commit(w *tablewriter.Writer, changes ...change) {
	f.Helper()
	r, err := w.Write(f.Context(), f.batch(w.Type(), changes), tablewriter.Position{})
	require.NoError(f, err)
	require.NoError(f, w.Flush(f.Context()))
	_, err = r.Wait(f.Context())
	require.NoError(f, err)
}

// javaWrite commits the changes as Java. compact is none, wait, full or auto.
func (f *table) javaWrite(compact string, changes ...change) {
	f.Helper()
	var text []byte
	for _, c := range changes {
		line, err := json.Marshal(c)
		require.NoError(f, err)
		text = append(append(text, line...), '\n')
	}
	path := filepath.Join(f.TempDir(), "rows.jsonl")
	require.NoError(f, os.WriteFile(path, text, 0o600))
	f.java("write", f.dir, path, "--compact", compact)
}

// javaStep lets Java play a step of a spec.
func (f *table) javaStep(step map[string]any) {
	f.Helper()
	text, err := json.Marshal(step)
	require.NoError(f, err)
	f.java("step", f.dir, strings.ReplaceAll(string(text), "\x7f", `\u007f`)) // YAML has no DEL
}

// alter changes the schema as we do.
func (f *table) alter(changes ...string) {
	f.Helper()
	for _, text := range changes {
		c, err := paimon.ParseChange(text)
		require.NoError(f, err)
		_, err = f.cat.AlterTable(f.Context(), tableName, []paimon.Change{c})
		require.NoError(f, err, text)
	}
}

// where says which state of a table is read.
type where struct {
	branch   string
	snapshot int64
	tag      string
}

func (w where) args() []string {
	var out []string
	if w.branch != "" {
		out = append(out, "--branch", w.branch)
	}
	if w.snapshot != 0 {
		out = append(out, "--snapshot", strconv.FormatInt(w.snapshot, 10))
	}
	if w.tag != "" {
		out = append(out, "--tag", w.tag)
	}
	return out
}

// rows reads the rows as we do, as lines in order.
func (f *table) rows(w where, filter string) []string {
	f.Helper()
	t := f.open(w.branch)
	var snap *paimon.Snapshot
	var err error
	spec := snapshotreader.ScanSpec{}
	switch {
	case w.tag != "":
		tag, e := t.Tag(f.Context(), w.tag)
		require.NoError(f, e)
		snap = tag.Snapshot
	case w.snapshot != 0:
		snap, err = t.Snapshot(f.Context(), w.snapshot)
	default:
		snap, err = t.LatestSnapshot(f.Context())
		spec.Schema = t.Schema()
	}
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil
	}
	require.NoError(f, err)
	if filter != "" {
		spec.Filter, err = snapshotreader.ParseFilter(filter, t.Schema())
		require.NoError(f, err, filter)
	}
	var out []string
	f.scan(t, snap, spec, func(b *rowdata.Batch, i int) { out = append(out, string(rowdata.AppendJSONObject(nil, b, i))) })
	slices.Sort(out)
	return out
}

// scan calls fn for each row of a snapshot.
func (f *table) scan(t *paimon.Table, snap *paimon.Snapshot, spec snapshotreader.ScanSpec, fn func(b *rowdata.Batch, i int)) {
	f.Helper()
	s, err := snapshotreader.Scan(f.Context(), t, snap, spec)
	require.NoError(f, err)
	defer s.Close()
	for {
		b, err := s.Next(f.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(f, err)
		for i := range b.Rows.N {
			fn(&b.Rows.Batch, i)
		}
	}
}

// javaRows reads the rows as Java does.
func (f *table) javaRows(w where, filter string) []string {
	f.Helper()
	args := append([]string{"rows", f.dir}, w.args()...)
	if filter != "" {
		args = append(args, "--where", filter)
	}
	lines := f.java(args...)
	slices.Sort(lines)
	return lines
}

// changes reads the changes of snapshots as we do: those of a bucket in the order
// of the stream, buckets in order.
func (f *table) changes(branch string, from, to int64) []string {
	f.Helper()
	if from > to {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	tail, err := snapshotreader.Open(ctx, f.open(branch), snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: from},
		snapshotreader.Options{Until: snapshotreader.Until{Mode: snapshotreader.UntilSnapshot, Snapshot: to}})
	require.NoError(f, err)
	defer tail.Close()
	var out []delivered
	for {
		b, err := tail.Next(ctx)
		if errors.Is(err, io.EOF) {
			return ordered(out)
		}
		require.NoError(f, err)
		partition := strings.TrimSuffix(f.open(branch).PartitionText(b.Partition), "/")
		for i := range b.Rows.N {
			out = append(out, delivered{
				Snapshot: b.Snapshot.ID, Kind: b.Rows.Kind(i).String(), Partition: partition, Bucket: int(b.Bucket),
				Row: rowdata.AppendJSONObject(nil, &b.Rows.Batch, i),
			})
		}
	}
}

// javaChanges reads the changes as Java does.
func (f *table) javaChanges(branch string, from, to int64) []string {
	f.Helper()
	if from > to {
		return nil
	}
	args := []string{"changelog", f.dir, "--from", strconv.FormatInt(from, 10), "--to", strconv.FormatInt(to, 10)}
	if branch != "" {
		args = append(args, "--branch", branch)
	}
	lines := f.java(args...)
	out := make([]delivered, len(lines))
	for i, line := range lines {
		require.NoError(f, json.Unmarshal([]byte(line), &out[i]), line)
	}
	return ordered(out)
}

// delivered is a change as a stream delivers it.
type delivered struct {
	Snapshot  int64
	Kind      string
	Row       json.RawMessage
	Partition string
	Bucket    int
}

// ordered returns lines in an order in which buckets do not interleave: which
// bucket of a snapshot comes first means nothing.
func ordered(in []delivered) []string {
	slices.SortStableFunc(in, func(a, b delivered) int {
		if a.Snapshot != b.Snapshot {
			return int(a.Snapshot - b.Snapshot)
		}
		if a.Partition != b.Partition {
			return strings.Compare(a.Partition, b.Partition)
		}
		return a.Bucket - b.Bucket
	})
	out := make([]string, len(in))
	for i, d := range in {
		out[i] = strconv.FormatInt(d.Snapshot, 10) + " " + d.Partition + "/" + strconv.Itoa(d.Bucket) + " " + d.Kind + " " + string(d.Row)
	}
	return out
}

// span returns the first and the last snapshot that changes can be read of.
func (f *table) span(branch string) (from, to int64) {
	f.Helper()
	t := f.open(branch)
	to, err := t.LatestID(f.Context())
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return 1, 0
	}
	require.NoError(f, err)
	from, err = t.EarliestChangelogID(f.Context())
	if errors.Is(err, paimon.ErrChangelogNotFound) {
		from, err = t.EarliestID(f.Context())
	}
	require.NoError(f, err)
	return from, to
}
