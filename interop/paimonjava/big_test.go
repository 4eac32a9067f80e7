//go:build interop

package paimonjava

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/datafile/pqt"
	"sluice/paimon/rowdata"
)

// smallPages make many pages and several row groups of a few rows, and
// dictionaries that are full soon.
var smallPages = map[string]string{
	"parquet.page.row.count.limit": "700", "parquet.page.size": "8192", "file.block-size": "60 kb", "parquet.dictionary.page.size": "4096",
}

// bigLayouts are ways to lay out big tables: in one file, in several, in files
// that overlap, in files that Java made of ours.
var bigLayouts = []struct {
	layout
	compact bool
}{
	{layout{"append", nil, nil, map[string]string{"bucket": "-1"}}, false},
	{layout{"one file", []string{"k"}, nil, map[string]string{
		"bucket": "1", "file.compression": "gzip", "data-file.thin-mode": "true", "parquet.delta.integers": "false",
	}}, false},
	{layout{"runs that overlap", []string{"k"}, nil, map[string]string{"bucket": "1", "changelog-producer": "input", "file.compression": "none"}}, false},
	{layout{"append in several files", nil, nil, map[string]string{
		"bucket": "2", "bucket-key": "k", "target-file-row-num": "5000", "file.compression": "snappy", "parquet.enable.dictionary": "false",
	}}, false},
	{layout{"compacted by Java", []string{"k"}, nil, map[string]string{"bucket": "2", "file.compression": "lz4"}}, true},
	{layout{"Avro", nil, nil, map[string]string{"bucket": "-1", "file.format": "avro", "target-file-row-num": "3000"}}, false},
}

// TestBig reads tables of many pages with filters on every type: Java decodes in
// batches of 1,024 rows, and leaves out files, row groups and pages by their
// bounds.
func TestBig(t *testing.T) {
	for i, l := range bigLayouts {
		var types []string
		for j := i; j < len(atomicTypes); j += len(bigLayouts) {
			types = append(types, atomicTypes[j])
		}
		if l.options["file.format"] == "avro" {
			types = inAvro(types)
		}
		t.Run(fmt.Sprint(l.name, types), func(t *testing.T) {
			t.Parallel()
			testBig(t, l.layout, l.compact, columns(types...))
		})
	}
}

func testBig(t *testing.T, l layout, compact bool, columns []string) {
	options := maps.Clone(smallPages)
	maps.Copy(options, l.options)
	f := ours(t, paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: append([]string{"k INT NOT NULL"}, columns...), PK: l.pk},
		Options: options,
	})
	r := newValues(t)
	typ := f.open("").Schema().RowType()
	rows := rankedRows(r, typ)
	f.write(rows...)
	if f.isParquet() {
		require.Greater(t, f.rowGroups(), 3, "row groups")
	}
	if l.pk != nil {
		again := rankedRows(r, typ)[:bigRows/2]
		for i := range again {
			again[i].Kind = pick(r, "+U", "+U", "-D")
		}
		if l.options["changelog-producer"] == "input" || compact {
			f.write(again...)
		}
	}
	if compact {
		f.java("compact", f.dir, "--full")
	}
	f.agree()
	for i := range typ.Fields {
		for _, c := range few(conditions(&typ.Fields[i], r.IntN(bigRows/2-holeTo)+holeTo), i, 5) {
			f.same(c.ours, f.javaRows(where{}, c.java), f.rows(where{}, c.ours))
		}
	}
}

// rankedRows makes rows whose columns grow with the key, but for some noise, some
// NULLs and 2,000 NULLs in a row.
func rankedRows(r *values, t *rowdata.RowType) []change {
	rows := make([]change, bigRows)
	for i := range rows {
		row := []any{i}
		for _, f := range t.Fields[1:] {
			rank := min(max(i-bigRows/2+r.IntN(400)-200, -bigRows/2), bigRows/2-1)
			if rank >= holeFrom && rank < holeTo {
				rank = holeTo
			}
			switch {
			case i/2000 == 2, r.chance(50):
				row = append(row, nil)
			case (f.Type.Root == rowdata.Float || f.Type.Root == rowdata.Double) && i/100 == 70:
				row = append(row, pick(r, "NaN", "Infinity", "-Infinity"))
			default:
				row = append(row, ranked(f.Type, rank))
			}
		}
		rows[i] = change{"+I", row}
	}
	return rows
}

func (f *table) isParquet() bool { return f.open("").Options()["file.format"] != "avro" }

// rowGroups counts the row groups of all data files.
func (f *table) rowGroups() int {
	f.Helper()
	groups := 0
	require.NoError(f, filepath.WalkDir(f.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		p, err := pqt.Open(file, info.Size(), nil, pqt.ReadOptions{Keep: func(pqt.RowGroup) bool { groups++; return false }})
		if err != nil {
			return err
		}
		defer p.Close()
		_, err = p.Next(nil)
		_ = err // the end
		return nil
	}))
	return groups
}

// TestBigSkips looks for single texts. Java then reads the pages that may have
// them, of every column; it must not pass over rows within a page, see
// [sluice/paimon/datafile/pqt.Writer].
func TestBigSkips(t *testing.T) {
	for _, options := range []map[string]string{
		{"bucket": "-1", "parquet.enable.dictionary": "false"},
		{"bucket": "-1", "file.compression": "none"},
	} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			t.Parallel()
			maps.Copy(options, smallPages)
			f := ours(t, paimon.SchemaSpec{
				Schema: paimon.ColumnsSpec{Fields: []string{
					"k INT NOT NULL", "a INT", "b DECIMAL(18,4)", "t STRING", "c TIME(0)", "d DATE", "e BIGINT", "f TIMESTAMP(6)", "g VARCHAR(12)",
				}},
				Options: options,
			})
			r := newValues(t)
			typ := f.open("").Schema().RowType()
			f.write(rankedRows(r, typ)...)
			step := 1055
			if full() {
				step = 211
			}
			for rank := holeTo; rank < bigRows/2; rank += step {
				c := compare(&typ.Fields[pick(r, 3, 8)], "=", rank*pick(r, 1, -1))
				f.same(c.ours, f.javaRows(where{}, c.java), f.rows(where{}, c.ours))
			}
		})
	}
}

// TestBigNested has parts in many pages.
func TestBigNested(t *testing.T) {
	for i, format := range []map[string]string{
		{"bucket": "1", "file.compression": "none"},
		{"bucket": "1", "parquet.delta.integers": "false", "parquet.enable.dictionary": "false"},
	} {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			t.Parallel()
			types := slices.Clone(nestedTypes)
			types = types[i*len(types)/2 : (i+1)*len(types)/2]
			options := maps.Clone(smallPages)
			maps.Copy(options, format)
			f := ours(t, paimon.SchemaSpec{
				Schema:  paimon.ColumnsSpec{Fields: append([]string{"k INT NOT NULL"}, columns(types...)...), PK: []string{"k"}},
				Options: options,
			})
			r := newValues(t)
			typ := f.open("").Schema().RowType()
			f.write(r.inserts(typ, 0, 0, 5000)...)
			require.Greater(t, f.rowGroups(), 3, "row groups")
			f.agree()
			for i := range typ.Fields[1:] {
				for _, c := range few(conditions(&typ.Fields[i+1], 0), i, 2) {
					f.same(c.ours, f.javaRows(where{}, c.java), f.rows(where{}, c.ours))
				}
			}
			f.write(r.inserts(typ, 0, 2500, 5000)...)
			f.java("compact", f.dir, "--full")
			f.agree()
		})
	}
}

// TestBigTexts has texts of all lengths, few of them and many, in dictionaries
// that are full in the midst of a column.
func TestBigTexts(t *testing.T) {
	t.Parallel()
	options := map[string]string{"bucket": "1", "metadata.stats-mode": "full"}
	maps.Copy(options, smallPages)
	f := ours(t, paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{
			Fields: []string{"k STRING NOT NULL", "few STRING", "fewer STRING NOT NULL", "many STRING", "long STRING", "bytes BYTES", "m MAP<STRING, STRING>"},
			PK:     []string{"k"},
		},
		Options: options,
	})
	r := newValues(t)
	rows := make([]change, 20_000)
	for i := range rows {
		few := any(words[r.IntN(len(words))])
		if i > 7000 { // the dictionary ends
			few = fmt.Sprint(words[r.IntN(len(words))], i)
		}
		long := any(strings.Repeat(words[r.IntN(len(words))], r.IntN(12)))
		if r.chance(300) {
			long = strings.Repeat("a very long text, longer than a page ", 300+r.IntN(20))
		}
		if r.chance(9) {
			few, long = nil, nil
		}
		rows[i] = change{"+I", []any{
			fmt.Sprintf("key of row %08d", i), few, pick(r, "x", "y", ""), fmt.Sprint("m", r.IntN(1<<30)), long,
			r.bytes(1 << 10),
			map[string]any{"a": fmt.Sprint(r.IntN(5)), fmt.Sprint("k", i%2000): nil},
		}}
	}
	f.write(rows...)
	require.Greater(t, f.rowGroups(), 3, "row groups")
	f.agree()
	f.java("compact", f.dir, "--full")
	f.agree()
	for _, c := range []condition{
		{`k = "key of row 00012345"`, `k = 'key of row 00012345'`},
		{`k >= "key of row 00019900"`, `k >= 'key of row 00019900'`},
		{`few = "ab"`, `few = 'ab'`},
		{`few > "日本語"`, `few > '日本語'`},
		{`long = ""`, `long = ''`},
		{`long > "ﬀ"`, `long > 'ﬀ'`},
		{`fewer = "z"`, `fewer = 'z'`},
	} {
		f.same(c.ours, f.javaRows(where{}, c.java), f.rows(where{}, c.ours))
	}
}
