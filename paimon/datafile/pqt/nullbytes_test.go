package pqt

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// NULLs between strings take no bytes; those of a careless codec that do are not
// written.
func TestNullsBetweenStrings(t *testing.T) {
	fields := []rowdata.Field{{ID: 1, Name: "s", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}}}
	for _, hidden := range []string{"", "hidden"} {
		for _, distinct := range []int{7, 1 << 30} {
			v := rowdata.NewVector(fields[0].Type, 0)
			want := rowdata.NewVector(fields[0].Type, 0)
			for i := range 4000 {
				if i%3 == 1 || i%1000 > 900 {
					v.AppendString(hidden)
					want.AppendNull()
					continue
				}
				s := fmt.Sprint("string ", i%distinct)
				v.AppendString(s)
				want.AppendString(s)
			}
			v.Valid = want.Valid
			var out bytes.Buffer
			w, err := NewWriter(&out, fields, Options{PageRows: 1300})
			require.NoError(t, err)
			require.NoError(t, w.Write([]*rowdata.Vector{v}, 0, 1700))
			require.NoError(t, w.Write([]*rowdata.Vector{v}, 1700, 4000))
			stats, err := w.Close()
			require.NoError(t, err)
			require.EqualValues(t, want.NullCount(), stats[0].Nulls)
			got := readAll(t, out.Bytes(), fields, ReadOptions{})[0]
			require.Equal(t, want.Len(), got.Len())
			for i := range want.Len() {
				require.Equal(t, want.IsNull(i), got.IsNull(i), i)
				require.Equal(t, string(want.Bytes(i)), string(got.Bytes(i)), i)
			}
		}
	}
}
