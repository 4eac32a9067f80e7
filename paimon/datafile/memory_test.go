package datafile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// folder keeps files in memory.
type folder struct {
	files   map[string][]byte // finished
	open    int               // sinks that are neither finished nor aborted
	aborted int
	fail    func(step string, name string) error // nil: nothing fails
}

func newFolder() *folder { return &folder{files: map[string][]byte{}} }

func (f *folder) check(step, name string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(step, name)
}

func (f *folder) create(_ context.Context, name string) (Sink, error) {
	if err := f.check("create", name); err != nil {
		return nil, err
	}
	f.open++
	return &memorySink{folder: f, name: name}, nil
}

// names returns a function that numbers files.
func (f *folder) names(prefix string) func() string {
	n := -1
	return func() string {
		n++
		return fmt.Sprintf("%s%d", prefix, n)
	}
}

func (f *folder) target(prefix string) Target { return Target{Create: f.create, Name: f.names(prefix)} }

type memorySink struct {
	folder *folder
	name   string
	buf    bytes.Buffer
	ended  bool
}

func (s *memorySink) Write(b []byte) (int, error) {
	if err := s.folder.check("write", s.name); err != nil {
		return 0, err
	}
	return s.buf.Write(b)
}

func (s *memorySink) end() {
	if s.ended {
		panic("sink " + s.name + " is ended twice")
	}
	s.ended = true
	s.folder.open--
}

func (s *memorySink) Finish(context.Context) error {
	s.end()
	if err := s.folder.check("finish", s.name); err != nil {
		return err
	}
	s.folder.files[s.name] = s.buf.Bytes()
	return nil
}

func (s *memorySink) Abort() error {
	s.end()
	s.folder.aborted++
	return s.folder.check("abort", s.name)
}

var errTest = errors.New("test error")

// readAll reads a file with the columns and batches of the spec.
func readAll(t testing.TB, file []byte, name string, spec ReadSpec) *rowdata.KeyValues {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)), name, spec)
	require.NoError(t, err)
	all := rowdata.NewKeyValues(spec.Want, 0)
	drain(t, r, all, spec)
	require.NoError(t, r.Close())
	return all
}

func drain(t testing.TB, r *Reader, all *rowdata.KeyValues, spec ReadSpec) {
	t.Helper()
	b := rowdata.NewKeyValues(spec.Want, 0)
	for {
		n, err := r.Next(b)
		if err == io.EOF {
			require.Zero(t, n)
			return
		}
		require.NoError(t, err)
		require.Positive(t, n)
		require.Equal(t, n, b.N)
		if spec.System {
			require.Len(t, b.Seq, n)
			require.Len(t, b.Kinds, n)
			all.AppendRange(b, 0, n)
		} else {
			require.Empty(t, b.Seq)
			require.Empty(t, b.Kinds)
			all.Batch.AppendRange(&b.Batch, 0, n)
		}
	}
}

func requireSameRows(t testing.TB, want, got *rowdata.Batch) {
	t.Helper()
	require.Equal(t, want.N, got.N)
	for c := range want.Cols {
		for i := range want.N {
			if !rowdata.Equal(want.Cols[c], i, got.Cols[c], i) {
				t.Fatalf("row %d of %s: want %s, got %s", i, want.Type.Fields[c].Name, rowdata.AppendJSON(nil, want.Cols[c], i), rowdata.AppendJSON(nil, got.Cols[c], i))
			}
		}
	}
}

// manifestRow decodes a row of a manifest to JSON.
func manifestRow(t testing.TB, row []byte, types ...*rowdata.Type) string {
	t.Helper()
	b := &rowdata.Batch{Type: &rowdata.RowType{}}
	for _, typ := range types {
		b.Type.Fields = append(b.Type.Fields, rowdata.Field{Type: typ.Nullable()})
		b.Cols = append(b.Cols, rowdata.NewVector(typ.Nullable(), 1))
	}
	require.NoError(t, rowdata.DecodeManifestRow(row, b.Cols))
	b.N = 1
	return string(rowdata.AppendJSONArray(nil, b, 0))
}

func one(t testing.TB, files []manifest.DataFile) manifest.DataFile {
	t.Helper()
	require.Len(t, files, 1)
	return files[0]
}
