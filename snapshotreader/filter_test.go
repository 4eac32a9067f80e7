package snapshotreader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// between passes rows whose column, of a type stored as I32, is in a range.
type between struct {
	column   string
	from, to int32
}

func (f between) Columns() []string { return []string{f.column} }

func (f between) Select(dst []int32, cols []*rowdata.Vector, n int) ([]int32, error) {
	for i := range n {
		if !cols[0].IsNull(i) && cols[0].I32[i] >= f.from && cols[0].I32[i] <= f.to {
			dst = append(dst, int32(i))
		}
	}
	return dst, nil
}

func (f between) Excludes(stats []rowdata.ColumnStats, rows int64) bool {
	st := stats[0]
	return st.Nulls == rows || st.Min != nil && st.Max != nil && (st.Max.I32[0] < f.from || st.Min.I32[0] > f.to)
}

// opensOf returns the data files that a scan opens.
func opensOf(t *testing.T, k *tableKit, spec ScanSpec) (rows []string, opened []string) {
	t.Helper()
	h := &history{Store: k.store, t: t}
	table, err := paimon.Open(t.Context(), h, k.path, "")
	require.NoError(t, err)
	s, err := Scan(t.Context(), table, k.last, spec)
	require.NoError(t, err)
	rows = append([]string{}, rowsOf(readScan(t, s))...)
	slices.Sort(rows)
	for _, name := range h.names() {
		if strings.Contains(name, "/data-") {
			opened = append(opened, name)
		}
	}
	return rows, opened
}

var threeColumns = paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v INT", "s STRING"}, PK: []string{"k"}}

// Pruning by statistics never brings back an old version of a row, whatever files
// there are: a filtered scan is the filter of the scan.
func TestFilterIsExact(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		options := map[string]string{"bucket": "1"}
		if seed%3 == 0 {
			options["metadata.stats-mode"] = "none"
		}
		k := newTableKit(t, threeColumns, options)
		var entries []manifest.Entry
		for file := range 1 + r.IntN(6) {
			keys := r.Perm(40)[:1+r.IntN(20)]
			slices.Sort(keys)
			level := int32(0)
			if file == 0 {
				level = 5
			}
			var rows []string
			base := r.IntN(100)
			for _, key := range keys {
				kind := "+I"
				if level == 0 && r.IntN(4) == 0 {
					kind = "-D"
				}
				value := fmt.Sprint(base + r.IntN(20))
				if r.IntN(8) == 0 {
					value = "null"
				}
				rows = append(rows, fmt.Sprintf(`%s [%d, %s, "x"]`, kind, key, value))
			}
			entries = append(entries, k.data(level, rows...)...)
		}
		k.commit(paimon.CommitAppend, entries, nil)
		whole, err := Scan(t.Context(), k.Table, k.last, ScanSpec{})
		require.NoError(t, err)
		all := readScan(t, whole)
		for range 10 {
			from := int32(r.IntN(120))
			for _, f := range []between{{"v", from, from + int32(r.IntN(20))}, {"k", from / 3, from/3 + 3}} {
				want := []string{}
				for _, b := range all {
					pick, err := f.Select(nil, []*rowdata.Vector{b.Rows.Cols[b.Schema.Index(f.column)]}, b.Rows.N)
					require.NoError(t, err)
					for _, i := range pick {
						want = append(want, string(rowdata.AppendJSONArray(nil, &b.Rows.Batch, int(i))))
					}
				}
				slices.Sort(want)
				got, _ := opensOf(t, k, ScanSpec{Filter: f})
				require.Equal(t, want, got, "seed %d %+v", seed, f)
				// The column of the filter need not be delivered.
				short, _ := opensOf(t, k, ScanSpec{Filter: f, Columns: []string{"s"}})
				require.Len(t, short, len(want))
			}
		}
	}
}

// Where it is safe, files that cannot have a row are not opened.
func TestFilterPrunes(t *testing.T) {
	row := func(k, v int) string { return fmt.Sprintf(`+I [%d, %d, "x"]`, k, v) }
	for _, tt := range []struct {
		name   string
		files  func(k *tableKit) []manifest.Entry
		pk     bool
		filter between
		opened int
	}{
		{"append table", func(k *tableKit) []manifest.Entry {
			return append(k.data(0, row(1, 1)), k.data(0, row(2, 50))...)
		}, false, between{"v", 40, 60}, 1},
		{"one level", func(k *tableKit) []manifest.Entry {
			return append(k.data(5, row(1, 1)), k.data(5, row(2, 50))...)
		}, true, between{"v", 40, 60}, 1},
		{"single file on level 0", func(k *tableKit) []manifest.Entry {
			return k.data(0, row(1, 1))
		}, true, between{"v", 40, 60}, 0},
		{"two levels: all or none", func(k *tableKit) []manifest.Entry {
			return append(k.data(5, row(1, 50)), k.data(0, row(1, 1))...)
		}, true, between{"v", 40, 60}, 2},
		{"two levels: none", func(k *tableKit) []manifest.Entry {
			return append(k.data(5, row(1, 50)), k.data(0, row(1, 1))...)
		}, true, between{"v", 70, 80}, 0},
		{"by key", func(k *tableKit) []manifest.Entry {
			return append(k.data(5, row(1, 50)), k.data(0, row(2, 1))...)
		}, true, between{"k", 2, 3}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			columns := threeColumns
			if !tt.pk {
				columns.PK = nil
			}
			options := map[string]string{"bucket": "1"}
			if !tt.pk {
				options["bucket-key"] = "k"
			}
			k := newTableKit(t, columns, options)
			k.commit(paimon.CommitAppend, tt.files(k), nil)
			_, opened := opensOf(t, k, ScanSpec{Filter: tt.filter})
			require.Len(t, opened, tt.opened)
		})
	}
}

// Statistics of files of older schemas are found by field id and cast.
func TestFilterAfterEvolution(t *testing.T) {
	k := newTableKit(t, paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v SMALLINT", "s STRING"}, PK: []string{"k"}}, map[string]string{"bucket": "1"})
	old := k.write("data-", rowdata.EmptyManifestRow(), 0, 5, k.records(`+I [1, 10, "x"]`, `+I [2, 20, "x"]`), datafile.Options{})
	catalog := paimon.NewCatalog(k.store, "w")
	for _, text := range []string{"alter column v type INT", "rename column v to w", "add column v INT"} {
		change, err := paimon.ParseChange(text)
		require.NoError(t, err)
		_, err = catalog.AlterTable(t.Context(), "db.t", []paimon.Change{change})
		require.NoError(t, err)
	}
	_, err := k.ReloadSchema(t.Context())
	require.NoError(t, err)
	young := k.write("data-", rowdata.EmptyManifestRow(), 0, 5, k.records(`+I [3, 30, "x", 15]`), datafile.Options{})
	k.commit(paimon.CommitAppend, append(old, young...), nil)
	for _, tt := range []struct {
		filter between
		rows   []string
		opened int
	}{
		{between{"w", 15, 25}, []string{`[2,20,"x",null]`}, 1},
		{between{"w", 30, 30}, []string{`[3,30,"x",15]`}, 1},
		{between{"v", 10, 20}, []string{`[3,30,"x",15]`}, 1}, // the old v is w now
		{between{"v", 16, 20}, []string{}, 0},
		{between{"w", 0, 100}, []string{`[1,10,"x",null]`, `[2,20,"x",null]`, `[3,30,"x",15]`}, 2},
	} {
		rows, opened := opensOf(t, k, ScanSpec{Filter: tt.filter})
		require.Equal(t, tt.rows, rows, "%+v", tt.filter)
		require.Len(t, opened, tt.opened, "%+v", tt.filter)
	}
	_, err = Scan(t.Context(), k.Table, k.last, ScanSpec{Filter: between{column: "nope"}})
	require.ErrorContains(t, err, `no column "nope"`)
}

func TestWidens(t *testing.T) {
	parse := func(s string) *rowdata.Type {
		typ, err := rowdata.ParseType(s)
		require.NoError(t, err)
		return typ
	}
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"TINYINT", "BIGINT", true},
		{"BIGINT", "INT", false},
		{"INT", "DOUBLE", false},
		{"INT", "STRING", false},
		{"FLOAT", "DOUBLE", true},
		{"DOUBLE", "FLOAT", false},
		{"CHAR(3)", "STRING", true},
		{"VARCHAR(9)", "VARCHAR(3)", false},
		{"DECIMAL(9, 2)", "DECIMAL(20, 2)", true},
		{"DECIMAL(9, 2)", "DECIMAL(9, 3)", false},
		{"BYTES", "VARBINARY(3)", false},
		{"TIMESTAMP(3)", "TIMESTAMP(9)", true},
		{"TIMESTAMP(9)", "TIMESTAMP(3)", false},
		{"TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", false},
		{"DATE", "TIMESTAMP(3)", false},
		{"BOOLEAN", "INT", false},
	} {
		require.Equal(t, tt.want, widens(parse(tt.from), parse(tt.to)), "%s to %s", tt.from, tt.to)
	}
}
