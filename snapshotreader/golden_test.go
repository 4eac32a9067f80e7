package snapshotreader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

const goldenDir = "../testdata/golden"

// expected is what Java finds in a table: testdata/golden/*/expected.json.
type expected struct {
	Snapshots           []expectedSnapshot     `json:"snapshots"`
	DecoupledChangelogs []expectedSnapshot     `json:"decoupledChangelogs"`
	Tags                map[string]expectedTag `json:"tags"`
	ReadOptimized       *[]any                 `json:"readOptimized"`
	Branches            map[string]expected    `json:"branches"`
	Consumers           map[string]int64       `json:"consumers"`
}

type expectedSnapshot struct {
	ID        int64            `json:"id"`
	Rows      []any            `json:"rows"`
	Changelog []expectedChange `json:"changelog"`
}

type expectedTag struct {
	Snapshot int64 `json:"snapshot"`
	Rows     []any `json:"rows"`
}

type expectedChange struct {
	Kind      string  `json:"kind"`
	Row       any     `json:"row"`
	Partition *string `json:"partition"`
	Bucket    int32   `json:"bucket"`
}

func readExpected[T any](t *testing.T, file string) T {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var e T
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(&e))
	return e
}

// openGolden opens a table below testdata, in a store that is the file system.
func openGolden(t *testing.T, dir, branch string) *paimon.Table {
	t.Helper()
	abs, err := filepath.Abs(dir)
	require.NoError(t, err)
	table, err := paimon.Open(t.Context(), local.New("/", local.Options{}), strings.TrimPrefix(abs, "/"), branch)
	require.NoError(t, err)
	return table
}

func goldenNames(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "expected.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

// asJSON returns the one JSON text of a value.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// normalJSON brings the JSON text of a value to the form of asJSON.
func normalJSON(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", text)
	return asJSON(t, v)
}

// scanRows reads all rows of a scan as sorted JSON lists.
func scanRows(ctx context.Context, t *testing.T, table *paimon.Table, snap *paimon.Snapshot, spec ScanSpec) ([]string, error) {
	t.Helper()
	s, err := Scan(ctx, table, snap, spec)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, s.Close()) }()
	rows := []string{}
	for {
		b, err := s.Next(ctx)
		if err == io.EOF {
			slices.Sort(rows)
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		require.Positive(t, b.Rows.N)
		for i := range b.Rows.N {
			rows = append(rows, normalJSON(t, rowdata.AppendJSONArray(nil, &b.Rows.Batch, i)))
		}
	}
}

func sortedJSON(t *testing.T, values []any) []string {
	t.Helper()
	rows := []string{}
	for _, v := range values {
		rows = append(rows, asJSON(t, v))
	}
	slices.Sort(rows)
	return rows
}

// change is a row of a stream in a form that compares.
type change struct {
	Kind, Row, Place string
	Snapshot         int64
	At               Cursor
	Image            bool
}

// changesOf turns a batch into its rows.
func changesOf(t *testing.T, table *paimon.Table, b *Batch) []change {
	t.Helper()
	var out []change
	for i := range b.Rows.N {
		out = append(out, change{
			Kind: b.Rows.Kind(i).String(), Row: string(rowdata.AppendJSONArray(nil, &b.Rows.Batch, i)),
			Place:    fmt.Sprintf("%s%d", table.PartitionText(b.Partition), b.Bucket),
			Snapshot: b.Snapshot.ID, At: b.Cursor(i), Image: b.Phase == Image,
		})
	}
	return out
}

// readStream reads a stream to its end and checks what every stream must be.
func readStream(ctx context.Context, t *testing.T, table *paimon.Table, s Start, o Options) ([]change, error) {
	t.Helper()
	tl, err := Open(ctx, table, s, o)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, tl.Close()) }()
	var out []change
	var last *Batch
	for {
		require.Equal(t, tl.Cursor(), tl.Cursor())
		at := tl.Cursor()
		b, err := tl.Next(ctx)
		if err == io.EOF {
			require.True(t, last == nil || last.Last)
			return out, nil
		}
		if err != nil {
			require.Equal(t, at, tl.Cursor(), "an error moves nothing")
			return out, err
		}
		checkBatch(t, at, last, b)
		require.Equal(t, b.Next, tl.Cursor())
		out = append(out, changesOf(t, table, b)...)
		last = b
	}
}

// checkBatch checks what holds of every batch, at being the cursor before it.
func checkBatch(t *testing.T, at Cursor, last, b *Batch) {
	t.Helper()
	require.Equal(t, b.Snapshot.SchemaID, b.Schema.ID)
	require.Equal(t, b.Phase, b.At.Phase)
	require.Equal(t, b.Snapshot.ID, b.At.Snapshot)
	require.Negative(t, b.At.Compare(b.Next))
	require.LessOrEqual(t, len(b.Next.String()), 64)
	if b.Rows.Kinds != nil {
		require.Len(t, b.Rows.Kinds, b.Rows.N)
	}
	for _, c := range b.Rows.Cols {
		require.Equal(t, b.Rows.N, c.Len())
	}
	require.Equal(t, b.At.Unit == 0 && b.At.Row == 0, b.First)
	require.Equal(t, b.Last, b.Next.AtBoundary())
	if b.Last {
		require.Equal(t, b.Snapshot.ID+1, b.Next.Snapshot)
		require.Equal(t, Changes, b.Next.Phase)
	}
	if last == nil {
		return
	}
	require.Zero(t, last.Next.Compare(b.At), "%v then %v", last.Next, b.At)
	require.Equal(t, last.Last, b.First)
	require.Zero(t, at.Compare(b.At))
}

// refusal says whether an error is the typed refusal of something that this
// version does not read.
func refusal(err error) string {
	var u *UnsupportedError
	if errors.As(err, &u) {
		return u.What
	}
	return ""
}

// hasORC tells whether a snapshot consists of ORC files too.
func hasORC(entries []manifest.Entry) bool {
	return slices.ContainsFunc(entries, func(e manifest.Entry) bool { return strings.HasSuffix(e.File.FileName, ".orc") })
}

func TestGolden(t *testing.T) {
	for _, name := range goldenNames(t, goldenDir) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(goldenDir, name)
			want := readExpected[expected](t, filepath.Join(dir, "expected.json"))
			table := openGolden(t, filepath.Join(dir, "table"), "")
			testGoldenTable(t, table, want)
			for branch, want := range want.Branches {
				t.Run("branch="+branch, func(t *testing.T) {
					if name == "tags-branches" && branch == "dev" {
						// Java was asked for these changes in the schema of snapshot 2, for
						// which it opened the main branch: the rows of the snapshot tell
						// what they are.
						want.Snapshots[1].Changelog = []expectedChange{{Kind: "+I", Row: []any{3, "dev"}}}
					}
					table := openGolden(t, filepath.Join(dir, "table"), branch)
					testGoldenTable(t, table, want)
				})
			}
		})
	}
}

func testGoldenTable(t *testing.T, table *paimon.Table, want expected) {
	ctx := t.Context()
	for _, s := range want.Snapshots {
		snap, err := table.Snapshot(ctx, s.ID)
		require.NoError(t, err)
		testGoldenRows(t, table, snap, ScanSpec{}, s.Rows, fmt.Sprintf("snapshot %d", s.ID))
	}
	for name, tag := range want.Tags {
		snap, err := table.Tag(ctx, name)
		require.NoError(t, err)
		require.Equal(t, tag.Snapshot, snap.Snapshot.ID)
		testGoldenRows(t, table, snap.Snapshot, ScanSpec{}, tag.Rows, "tag "+name)
	}
	if want.ReadOptimized != nil && len(want.Snapshots) > 0 {
		snap, err := table.LatestSnapshot(ctx)
		require.NoError(t, err)
		testGoldenRows(t, table, snap, ScanSpec{Levels: LevelsTop, Schema: table.Schema()}, *want.ReadOptimized, "read-optimized")
	}
	for id, next := range want.Consumers {
		tl, err := Open(ctx, table, Start{Mode: StartConsumer, Consumer: id}, Options{})
		require.NoError(t, err)
		require.Equal(t, next, tl.Cursor().Snapshot)
		require.NoError(t, tl.Close())
	}
	testGoldenChangelog(t, table, append(want.DecoupledChangelogs, want.Snapshots...))
}

func testGoldenRows(t *testing.T, table *paimon.Table, snap *paimon.Snapshot, spec ScanSpec, want []any, what string) {
	t.Helper()
	got, err := scanRows(t.Context(), t, table, snap, spec)
	switch {
	case refusal(err) == "file format orc":
		entries, err := table.LiveEntries(t.Context(), snap, paimon.Filter{})
		require.NoError(t, err)
		require.True(t, hasORC(entries), what)
		return
	}
	require.NoError(t, err, what)
	require.Equal(t, sortedJSON(t, want), got, what)
}

// testGoldenChangelog compares the changes of each snapshot, per bucket in order.
func testGoldenChangelog(t *testing.T, table *paimon.Table, want []expectedSnapshot) {
	ctx := t.Context()
	got := make(map[int64][]change)
	tl, err := Open(ctx, table, Start{}, Options{Until: Until{Mode: UntilLatest}, BatchRows: 100})
	require.NoError(t, err)
	defer func() { require.NoError(t, tl.Close()) }()
	var last *Batch
	for {
		at := tl.Cursor()
		b, err := tl.Next(ctx)
		if err == io.EOF {
			break
		}
		if refusal(err) == "file format orc" {
			snap, err := table.Snapshot(ctx, at.Snapshot)
			require.NoError(t, err)
			delta, err := table.DeltaEntries(ctx, snap)
			require.NoError(t, err)
			changelog, err := table.ChangelogEntries(ctx, snap)
			require.NoError(t, err)
			require.True(t, hasORC(delta) || hasORC(changelog))
			// On with the next snapshot.
			require.NoError(t, tl.Close())
			tl, err = Open(ctx, table, Start{Mode: StartSnapshot, Snapshot: at.Snapshot + 1}, Options{Until: Until{Mode: UntilLatest}})
			require.NoError(t, err)
			last = nil
			want = slices.DeleteFunc(want, func(s expectedSnapshot) bool { return s.ID == at.Snapshot })
			continue
		}
		require.NoError(t, err)
		checkBatch(t, at, last, b)
		got[b.Snapshot.ID] = append(got[b.Snapshot.ID], changesOf(t, table, b)...)
		last = b
	}
	for _, s := range want {
		require.Equal(t, byPlaceExpected(t, table, s.Changelog), byPlace(t, got[s.ID]), "changes of snapshot %d", s.ID)
	}
}

func byPlace(t *testing.T, changes []change) map[string][]string {
	m := make(map[string][]string)
	for _, c := range changes {
		m[c.Place] = append(m[c.Place], c.Kind+" "+normalJSON(t, []byte(c.Row)))
	}
	return m
}

func byPlaceExpected(t *testing.T, table *paimon.Table, changes []expectedChange) map[string][]string {
	m := make(map[string][]string)
	for _, c := range changes {
		place := fmt.Sprint(c.Bucket)
		if c.Partition != nil && *c.Partition != "" {
			place = *c.Partition + "/" + place
		}
		m[place] = append(m[place], c.Kind+" "+asJSON(t, c.Row))
	}
	return m
}

func decodeObject(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v), "%s", text)
	return v
}

// readBatches reads a stream to its end.
func readBatches(t *testing.T, table *paimon.Table, s Start, o Options) []*Batch {
	t.Helper()
	tl, err := Open(t.Context(), table, s, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, tl.Close()) }()
	var out []*Batch
	for {
		b, err := tl.Next(t.Context())
		if err == io.EOF {
			return out
		}
		require.NoError(t, err)
		out = append(out, b)
	}
}

// readScan reads a scan to its end and closes it. Batches are valid only if they
// own their memory, or if there is one.
func readScan(t *testing.T, s *Scanner) []*Batch {
	t.Helper()
	s.spec.Keep = true
	var out []*Batch
	for {
		b, err := s.Next(t.Context())
		if err == io.EOF {
			require.NoError(t, s.Close())
			return out
		}
		require.NoError(t, err)
		out = append(out, b)
	}
}
