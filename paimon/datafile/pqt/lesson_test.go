package pqt

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// Small files of one writer are compressed as the ones before told. They are right
// whatever is in them, and when it changes, the writer notices soon.
func TestSmallFilesLearn(t *testing.T) {
	fields := []rowdata.Field{
		{ID: 1, Name: "n", Type: &rowdata.Type{Root: rowdata.Double}},
		{ID: 2, Name: "s", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}},
	}
	r := rand.New(rand.NewPCG(3, 9))
	const rows = 1_000
	values := func(alike bool) []*rowdata.Vector {
		n, s := rowdata.NewVector(fields[0].Type, 0), rowdata.NewVector(fields[1].Type, 0)
		for i := range rows {
			if alike {
				n.AppendF64(float64(i))
				s.AppendString(strings.Repeat("the same text in every row ", 2) + string(rune('a'+i%26)) + string(rune('a'+i/26)))
				continue
			}
			n.AppendF64(r.Float64())
			b := make([]byte, 30+r.IntN(30))
			for k := range b {
				b[k] = 'a' + byte(min(r.IntN(26), r.IntN(26)))
			}
			s.AppendString(string(b))
		}
		return []*rowdata.Vector{n, s}
	}
	var kept *Writer
	write := func(w *Writer, out *bytes.Buffer, v []*rowdata.Vector) int {
		require.NoError(t, w.Write(v, 0, rows))
		_, err := w.Close()
		require.NoError(t, err)
		for c, got := range readAll(t, out.Bytes(), fields, ReadOptions{}) {
			require.Equal(t, rows, got.Len())
			for i := range rows {
				require.True(t, rowdata.Equal(v[c], i, got, i))
			}
		}
		return out.Len()
	}
	late := 0
	for file := range 60 {
		v := values(file/20 == 1)
		var fresh, again bytes.Buffer
		w, err := NewWriter(&fresh, fields, Options{})
		require.NoError(t, err)
		want := write(w, &fresh, v)
		if kept == nil {
			kept, err = NewWriter(&again, fields, Options{})
			require.NoError(t, err)
		} else {
			kept.Reset(&again)
		}
		learnt := kept.columns[1].lesson.groups
		got := write(kept, &again, v)
		if got > want+want/50 {
			late++
			require.LessOrEqual(t, late, 2*lessonGroups, "file %d takes %d bytes instead of %d", file, got, want)
			require.Positive(t, learnt)
		}
		if file == 10 {
			require.True(t, kept.columns[0].lesson.raw)
			require.True(t, kept.columns[1].lesson.literals)
		}
	}
	require.Positive(t, late, "nothing was learnt")
}
