package tablewriter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

func newSchema(t testing.TB, fields, pk, partition []string, options map[string]string) *paimon.Schema {
	t.Helper()
	s, err := paimon.NewSchema(paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{Fields: fields, PK: pk, Partition: partition}, Options: options,
	}, 1)
	require.NoError(t, err)
	return s
}

// keyed is a usual table with a primary key, with more options.
func keyed(t testing.TB, options map[string]string) *paimon.Schema {
	o := map[string]string{"bucket": "2"}
	for k, v := range options {
		o[k] = v
	}
	return newSchema(t, []string{"k INT", "v STRING"}, []string{"k"}, nil, o)
}

func TestShapeRefusals(t *testing.T) {
	option := func(want string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var unsupported *UnsupportedError
			require.ErrorAs(t, err, &unsupported)
			require.Equal(t, want, unsupported.Option)
			require.ErrorContains(t, err, want)
		}
	}
	format := func(want string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var unsupported *datafile.UnsupportedFormatError
			require.ErrorAs(t, err, &unsupported)
			require.Equal(t, want, unsupported.Format)
		}
	}
	for _, tc := range []struct {
		name    string
		options map[string]string
		want    func(*testing.T, error) // nil: can be written
	}{
		{"plain", nil, nil},
		{"input", map[string]string{"changelog-producer": "input"}, nil},
		{"lookup", map[string]string{"changelog-producer": "lookup"}, nil},
		{"lookup, write-only", map[string]string{"changelog-producer": "lookup", "write-only": "true"}, nil},
		{"full-compaction", map[string]string{"changelog-producer": "full-compaction"}, nil},
		{"full-compaction, write-only", map[string]string{"changelog-producer": "full-compaction", "write-only": "true"}, nil},
		{"partial-update", map[string]string{"merge-engine": "partial-update"}, nil},
		{"aggregation", map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}, nil},
		{"first-row", map[string]string{"merge-engine": "first-row"}, nil},
		{"first-row, write-only", map[string]string{"merge-engine": "first-row", "write-only": "true"}, nil},
		{"dynamic buckets", map[string]string{"bucket": "-1"}, option("bucket")},
		{"postpone", map[string]string{"bucket": "-2"}, option("bucket")},
		{"deletion vectors", map[string]string{"deletion-vectors.enabled": "true"}, option("deletion-vectors.enabled")},
		{"deletion vectors, write-only", map[string]string{"deletion-vectors.enabled": "true", "write-only": "true"}, nil},
		{"forced lookup", map[string]string{"force-lookup": "true"}, nil},
		{"snapshot ordering", map[string]string{"sequence.snapshot-ordering": "true", "write-only": "true"}, option("sequence.snapshot-ordering")},
		{"clustering", map[string]string{"pk-clustering-override": "true", "clustering.columns": "v", "deletion-vectors.enabled": "true", "write-only": "true"}, option("pk-clustering-override")},
		{"orc", map[string]string{"file.format": "orc"}, format("orc")},
		{"orc on a higher level only", map[string]string{"file.format.per.level": "5:orc"}, format("orc")},
		{"orc on a higher level only, write-only", map[string]string{"file.format.per.level": "5:orc", "write-only": "true"}, nil},
		{"orc changelog", map[string]string{"changelog-file.format": "orc", "changelog-producer": "input"}, format("orc")},
		{"bad option", map[string]string{"write-buffer-size": "much"}, func(t *testing.T, err error) {
			var bad *paimon.OptionError
			require.ErrorAs(t, err, &bad)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := keyed(t, nil)
			for k, v := range tc.options {
				s.Options[k] = v // also what a new table would be refused for
			}
			h, err := newShape(s, false)
			if err == nil {
				_, err = lsmTable(h, "session")
			}
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			tc.want(t, err)
		})
	}
}

func TestShapeRefusesCrossPartitionKeys(t *testing.T) {
	s := newSchema(t, []string{"k INT", "p INT"}, []string{"k"}, []string{"p"}, map[string]string{"bucket": "-1"})
	_, err := newShape(s, false)
	var unsupported *UnsupportedError
	require.ErrorAs(t, err, &unsupported)
}

func TestShapeAppendTables(t *testing.T) {
	for _, tc := range []struct {
		options map[string]string
		buckets int
	}{
		{nil, paimon.UnawareBuckets},
		{map[string]string{"bucket": "-1", "merge-engine": "partial-update"}, paimon.UnawareBuckets},
		{map[string]string{"bucket": "3", "bucket-key": "v"}, 3},
	} {
		h, err := newShape(newSchema(t, []string{"k INT", "v STRING"}, nil, nil, tc.options), false)
		require.NoError(t, err)
		require.False(t, h.keyed)
		require.Equal(t, tc.buckets, h.buckets)
	}
	_, err := newShape(newSchema(t, []string{"k INT"}, nil, nil, map[string]string{"row-tracking.enabled": "true"}), false)
	var unsupported *UnsupportedError
	require.ErrorAs(t, err, &unsupported)
}

func TestShapeRowKindField(t *testing.T) {
	s := keyed(t, nil)
	s.Options["rowkind.field"] = "k"
	_, err := newShape(s, false)
	var invalid *paimon.ValidationError
	require.ErrorAs(t, err, &invalid)
	s.Options["rowkind.field"] = "x"
	_, err = newShape(s, false)
	require.ErrorAs(t, err, &invalid)
}

// changes makes a batch of rows given as Go values: nil, int, string.
func changes(t testing.TB, typ *rowdata.RowType, kinds string, rows ...[]any) *rowdata.Changes {
	t.Helper()
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, len(rows))}
	for i, row := range rows {
		if kinds != "" {
			k, err := rowdata.ParseRowKind(kinds[3*i : 3*i+2])
			require.NoError(t, err)
			c.Kinds = append(c.Kinds, k)
		}
		for col, x := range row {
			v := c.Cols[col]
			switch x := x.(type) {
			case nil:
				v.AppendNull()
			case int:
				if v.Storage() == rowdata.StoreI64 {
					v.AppendI64(int64(x))
				} else {
					v.AppendI32(int32(x))
				}
			case string:
				v.AppendString(x)
			default:
				require.FailNow(t, "value of no known type")
			}
		}
		c.CloseRow()
	}
	return c
}
