package datafile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// writeOne writes the rows into one file.
func writeOne(t testing.TB, l Layout, format string, kv *rowdata.KeyValues) ([]byte, string) {
	t.Helper()
	dir := newFolder()
	w := NewRollingWriter(dir.create, dir.names("data-"), l, Options{Format: format})
	require.NoError(t, w.Write(t.Context(), kv, 0, kv.N))
	files, err := w.Close(t.Context())
	require.NoError(t, err)
	f := one(t, files)
	return dir.files[f.FileName], f.FileName
}

// jsonRows returns the rows as the text of lists.
func jsonRows(b *rowdata.Batch) []string {
	rows := make([]string, b.N)
	for i := range rows {
		rows[i] = string(rowdata.AppendJSONArray(nil, b, i))
	}
	return rows
}

func field(id int, name string, t *rowdata.Type) rowdata.Field {
	return rowdata.Field{ID: id, Name: name, Type: t}
}

func row(fields ...rowdata.Field) *rowdata.Type {
	return &rowdata.Type{Root: rowdata.Row, Fields: fields}
}

func rowType(fields ...rowdata.Field) *rowdata.RowType { return &rowdata.RowType{Fields: fields} }

func batchOf(t testing.TB, typ *rowdata.RowType, rows ...[]any) *rowdata.KeyValues {
	t.Helper()
	kv := rowdata.NewKeyValues(typ, len(rows))
	for i, r := range rows {
		require.NoError(t, rowdata.AppendJSONRow(&kv.Batch, r))
		kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, rowdata.Insert)
		if kv.N != i+1 {
			kv.CloseRow()
		}
	}
	return kv
}

// TestEvolution changes a schema in all ways at once: columns and members are
// found by id whatever they are called and wherever they stand.
func TestEvolution(t *testing.T) {
	double := &rowdata.Type{Root: rowdata.Double}
	dec := &rowdata.Type{Root: rowdata.Decimal, Precision: 5, Scale: 2}
	old := rowType(
		field(0, "k", intType.AsNotNull()),
		field(1, "a", textType),
		field(2, "b", intType),
		field(3, "r", row(field(4, "x", intType), field(5, "y", textType), field(6, "z", row(field(7, "d", double))))),
		field(8, "l", &rowdata.Type{Root: rowdata.Array, Elem: row(field(9, "p", intType), field(10, "q", textType))}),
		field(11, "m", &rowdata.Type{Root: rowdata.Map, Key: textType.AsNotNull(), Elem: row(field(12, "u", intType))}),
		field(13, "dec", dec),
	)
	now := rowType(
		field(13, "dec2", &rowdata.Type{Root: rowdata.Decimal, Precision: 20, Scale: 3}),
		field(20, "a", bigType), // a was renamed, and there is a new a
		field(1, "aa", textType),
		field(0, "k", intType.AsNotNull()),
		field(2, "b", textType), // INT became STRING
		field(3, "r", row(field(4, "x", bigType), field(5, "yy", textType), field(6, "z", row(field(21, "e", textType))), field(22, "w", bigType))),
		field(8, "l", &rowdata.Type{Root: rowdata.Array, Elem: row(field(23, "s", double), field(9, "p", intType))}),
		field(11, "m", &rowdata.Type{Root: rowdata.Map, Key: textType.AsNotNull(), Elem: row(field(12, "u", intType), field(24, "t", textType))}),
	)
	rows := batchOf(t, old,
		[]any{json.Number("1"), "a", json.Number("7"), []any{json.Number("1"), "y", []any{json.Number("0.5")}}, []any{[]any{json.Number("1"), "q"}, nil, []any{json.Number("2"), nil}}, map[string]any{"f": []any{json.Number("7")}}, "1.25"},
		[]any{json.Number("2"), nil, nil, nil, []any{}, map[string]any{}, nil},
		[]any{json.Number("3"), "c", json.Number("-9"), []any{nil, nil, nil}, nil, nil, "-999.99"},
	)
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			l := Layout{Schema: old, Key: []int{0}}
			file, name := writeOne(t, l, format, rows)
			for _, batch := range []int{0, 1, 2} {
				got := readAll(t, file, name, ReadSpec{Want: now, File: old, System: true, BatchRows: batch})
				require.Equal(t, []string{
					`["1.250",null,"a",1,"7",{"x":1,"yy":"y","z":null,"w":null},[{"s":null,"p":1},null,{"s":null,"p":2}],{"f":{"u":7,"t":null}}]`,
					`[null,null,null,2,null,null,[],{}]`,
					`["-999.990",null,"c",3,"-9",{"x":null,"yy":null,"z":null,"w":null},null,null]`,
				}, jsonRows(&got.Batch))
				require.Equal(t, []int64{0, 1, 2}, got.Seq)
			}
			// The other way round, as time travel reads new files under an old schema.
			same := readAll(t, file, name, ReadSpec{Want: old, File: old})
			requireSameRows(t, &rows.Batch, &same.Batch)
		})
	}

	_, err := Open(bytes.NewReader(nil), 0, "x.avro", ReadSpec{
		Want: rowType(field(0, "k", &rowdata.Type{Root: rowdata.Array, Elem: intType})), File: old,
	})
	var evolution *EvolutionError
	require.ErrorAs(t, err, &evolution)
	require.Equal(t, "k", evolution.Column)
}

// TestCastFails has a value that the new type can't take.
func TestCastFails(t *testing.T) {
	old := rowType(field(0, "a", textType))
	rows := batchOf(t, old, []any{"12"}, []any{"twelve"})
	file, name := writeOne(t, Layout{Schema: old}, FormatAvro, rows)
	r, err := Open(bytes.NewReader(file), int64(len(file)), name, ReadSpec{Want: rowType(field(0, "n", intType)), File: old})
	require.NoError(t, err)
	b := rowdata.NewKeyValues(rowType(field(0, "n", intType)), 0)
	_, err = r.Next(b)
	require.ErrorContains(t, err, "column n")
	require.ErrorContains(t, err, "twelve")
	_, again := r.Next(b)
	require.Equal(t, err, again)
}

func TestPasses(t *testing.T) {
	parse := func(s string) *rowdata.Type {
		typ, err := rowdata.ParseType(s)
		require.NoError(t, err)
		return typ
	}
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"INT", "INT NOT NULL", true},
		{"TINYINT", "INT", true},
		{"INT", "TINYINT", false},
		{"INT", "BIGINT", false},
		{"BOOLEAN", "INT", false},
		{"DATE", "INT", false},
		{"VARCHAR(3)", "STRING", true},
		{"STRING", "VARCHAR(3)", false},
		{"CHAR(2)", "CHAR(3)", false},
		{"CHAR(2)", "STRING", false},
		{"DECIMAL(5,2)", "DECIMAL(18,2)", true},
		{"DECIMAL(5,2)", "DECIMAL(19,2)", false},
		{"DECIMAL(5,2)", "DECIMAL(6,3)", false},
		{"DECIMAL(6,2)", "DECIMAL(5,2)", false},
		{"TIMESTAMP(0)", "TIMESTAMP(3)", true},
		{"TIMESTAMP(4)", "TIMESTAMP(6)", true},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", false},
		{"TIMESTAMP(6)", "TIMESTAMP(9)", false},
		{"TIMESTAMP(3)", "TIMESTAMP(0)", false},
		{"FLOAT", "DOUBLE", false},
		{"VARBINARY(2)", "BYTES", true},
		{"BIGINT", "BIGINT", true},
	} {
		require.Equal(t, c.want, passes(parse(c.from), parse(c.to)), "%s to %s", c.from, c.to)
	}
	require.True(t, passes(row(field(1, "a", intType)), row(field(1, "b", intType))), "a renamed member")
	require.False(t, passes(row(field(1, "a", intType)), row(field(2, "a", intType))), "another member of the same name")
	require.False(t, passes(row(field(1, "a", intType)), row(field(1, "a", intType), field(2, "b", intType))))
}

func TestConstantsAndWriteCols(t *testing.T) {
	schema := keyedLayout().Schema
	rows := keyedRows(50)
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			file, name := writeOne(t, keyedLayout(), format, rows)
			day := rowdata.NewVector(textType, 1)
			day.AppendString("monday")
			null := rowdata.NewVector(intType, 1)
			null.AppendNull()
			got := readAll(t, file, name, ReadSpec{Want: schema, File: schema, BatchRows: 20, Constants: []*rowdata.Vector{nil, day, null, nil}, WriteCols: []string{"k"}})
			require.Equal(t, 50, got.N)
			for i := range got.N {
				require.True(t, rowdata.Equal(rows.Cols[0], i, got.Cols[0], i))
				require.Equal(t, "monday", string(got.Cols[1].Bytes(i)))
				require.True(t, got.Cols[2].IsNull(i))
				require.True(t, got.Cols[3].IsNull(i), "not in WriteCols")
			}
			// Nothing of the file but its rows.
			none := readAll(t, file, name, ReadSpec{Want: rowType(field(99, "new", intType)), File: schema, BatchRows: 20})
			require.Equal(t, 50, none.N)
			require.Equal(t, 50, none.Cols[0].NullCount())
			require.Equal(t, 50, readAll(t, file, name, ReadSpec{Want: rowType(), File: schema, BatchRows: 20}).N)
		})
	}
}

type positions map[int64]bool

func (p positions) Contains(at int64) bool { return p[at] }

// kept is a set that answers for many rows at once.
type kept struct{ positions }

func (k kept) AppendKept(dst []int32, from int64, n int) []int32 {
	for i := range n {
		if !k.positions[from+int64(i)] {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// nestedSchema has a column of each storage.
func nestedSchema(t testing.TB) *rowdata.RowType {
	typ := rowType()
	for i, s := range []string{"BIGINT NOT NULL", "INT", "FLOAT", "DOUBLE", "DECIMAL(30,2)", "STRING", "TIMESTAMP(6)"} {
		p, err := rowdata.ParseType(s)
		require.NoError(t, err)
		typ.Fields = append(typ.Fields, field(i, "c"+string(rune('a'+i)), p))
	}
	typ.Fields = append(typ.Fields,
		field(20, "l", &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Array, Elem: textType}}),
		field(21, "m", &rowdata.Type{Root: rowdata.Map, Key: intType, Elem: row(field(22, "x", intType), field(23, "y", textType))}),
		field(24, "r", row(field(25, "z", &rowdata.Type{Root: rowdata.Array, Elem: intType}))))
	return typ
}

func randomRows(r *rand.Rand, typ *rowdata.RowType, n int) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(typ, n)
	for i := range n {
		for c, v := range kv.Cols {
			if c == 0 {
				v.AppendI64(int64(i))
				continue
			}
			appendRandom(r, v)
		}
		kv.Seq, kv.Kinds = append(kv.Seq, int64(i*10)), append(kv.Kinds, rowdata.RowKind(r.IntN(4)))
		kv.CloseRow()
	}
	return kv
}

func appendRandom(r *rand.Rand, v *rowdata.Vector) {
	if !v.Type.NotNull && r.IntN(4) == 0 {
		v.AppendNull()
		return
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		v.AppendI32(r.Int32N(1000))
	case rowdata.StoreI64:
		v.AppendI64(r.Int64N(1 << 40))
	case rowdata.StoreF32:
		v.AppendF32(r.Float32())
	case rowdata.StoreF64:
		v.AppendF64(r.Float64())
	case rowdata.StoreI128:
		v.AppendI128(rowdata.Int128From(r.Int64()))
	case rowdata.StoreNanos:
		v.AppendTimestamp(r.Int64N(1<<40), r.Int32N(1_000_000))
	case rowdata.StoreBytes:
		v.AppendString("some text of a row"[:r.IntN(19)])
	case rowdata.StoreList, rowdata.StoreMap:
		for range r.IntN(4) {
			for k, c := range v.Children {
				if k == 0 && len(v.Children) == 2 { // keys are never NULL
					c.AppendI32(r.Int32N(1000))
					continue
				}
				appendRandom(r, c)
			}
		}
		v.CloseList()
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			appendRandom(r, c)
		}
		v.CloseStruct()
	}
}

// TestDeletionVector leaves out random rows, with batches that have none, some
// and only deleted rows, after rows that were skipped.
func TestDeletionVector(t *testing.T) {
	const n = 700
	typ := nestedSchema(t)
	r := rand.New(rand.NewPCG(1, 2))
	rows := randomRows(r, typ, n)
	deleted := positions{}
	for i := range int64(n) {
		if i >= 100 && i < 150 || i >= 300 && r.IntN(3) == 0 || i == n-1 {
			deleted[i] = true
		}
	}
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			file, name := writeOne(t, Layout{Schema: typ, Key: []int{0}}, format, rows)
			for _, skip := range []int64{0, 1, 120, 333, 699, 700, 5000} {
				for _, set := range []Deleted{deleted, kept{deleted}} {
					spec := ReadSpec{Want: typ, File: typ, System: true, BatchRows: 23, DV: set}
					reader, err := Open(bytes.NewReader(file), int64(len(file)), name, spec)
					require.NoError(t, err)
					require.Equal(t, int64(n), reader.Rows())
					require.NoError(t, reader.SkipRows(skip))
					got := rowdata.NewKeyValues(typ, 0)
					drain(t, reader, got, spec)
					want := rowdata.NewKeyValues(typ, 0)
					for i := skip; i < n; i++ {
						if !deleted[i] {
							want.AppendFrom(rows, int(i))
						}
					}
					requireSameRows(t, &want.Batch, &got.Batch)
					if want.N > 0 {
						require.Equal(t, want.Seq, got.Seq)
						require.Equal(t, want.Kinds, got.Kinds)
					}
				}
			}
		})
	}
}

// TestSystemColumns refuses files that lack them, and kinds that there are not.
func TestSystemColumns(t *testing.T) {
	schema := rowType(field(1, "a", intType))
	rows := batchOf(t, schema, []any{json.Number("1")})
	file, name := writeOne(t, Layout{Schema: schema}, FormatAvro, rows)
	b := rowdata.NewKeyValues(schema, 0)
	r, err := Open(bytes.NewReader(file), int64(len(file)), name, ReadSpec{Want: schema, File: schema, System: true})
	require.NoError(t, err)
	_, err = r.Next(b)
	require.ErrorIs(t, err, ErrCorrupt)

	bad := rowType(field(1, SequenceColumn, sequenceType), field(2, KindColumn, kindType))
	file, name = writeOne(t, Layout{Schema: bad}, FormatAvro, batchOf(t, bad, []any{json.Number("1"), json.Number("4")}))
	r, err = Open(bytes.NewReader(file), int64(len(file)), name, ReadSpec{Want: schema, File: schema, System: true})
	require.NoError(t, err)
	_, err = r.Next(b)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "kind 4")
}

// TestReadsInPlace finds values in the memory of the caller's vectors, without a
// copy and without memory for each batch.
func TestReadsInPlace(t *testing.T) {
	l := keyedLayout()
	rows := keyedRows(20_000)
	want := l.Schema.Project([]int{0, 2, 3}) // without NULLs, for which vectors take memory
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			file, name := writeOne(t, l, format, rows)
			r, err := Open(bytes.NewReader(file), int64(len(file)), name, ReadSpec{Want: want, File: l.Schema, System: true, BatchRows: 100})
			require.NoError(t, err)
			for _, c := range r.cols {
				require.Nil(t, c.raw)
			}
			b := rowdata.NewKeyValues(want, 0)
			for range 10 {
				_, err := r.Next(b)
				require.NoError(t, err)
			}
			seq := &b.Seq[0]
			allocs := testing.AllocsPerRun(100, func() {
				if _, err := r.Next(b); err != nil && err != io.EOF {
					t.Fatal(err)
				}
			})
			require.Less(t, allocs, 20.0, "for batches of 100 rows")
			require.Same(t, seq, &b.Seq[:1][0])
		})
	}
}

func TestReaderAfterClose(t *testing.T) {
	l := keyedLayout()
	file, name := writeOne(t, l, FormatAvro, keyedRows(5))
	spec := ReadSpec{Want: l.Schema, File: l.Schema}
	r, err := Open(bytes.NewReader(file), int64(len(file)), name, spec)
	require.NoError(t, err)
	_, err = r.Next(rowdata.NewKeyValues(rowType(), 0))
	require.ErrorContains(t, err, "0 columns")
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	_, err = r.Next(rowdata.NewKeyValues(l.Schema, 0))
	require.ErrorIs(t, err, errClosed)
	require.ErrorIs(t, r.SkipRows(1), errClosed)
}

// TestCompactedChangelog reads the parts of a file that was put together from
// two changelog files, by the names that a manifest has for them.
func TestCompactedChangelog(t *testing.T) {
	l := keyedLayout()
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			all := keyedRows(60)
			var joined []byte
			var sizes []int
			for _, part := range [][2]int{{0, 40}, {40, 60}} {
				rows := rowdata.NewKeyValues(l.Schema, 0)
				rows.AppendRange(all, part[0], part[1])
				file, _ := writeOne(t, l, format, rows)
				joined, sizes = append(joined, file...), append(sizes, len(file))
			}
			got := rowdata.NewKeyValues(l.Schema, 0)
			for _, name := range []string{
				fmt.Sprintf("compacted-changelog-u$4-%d.cc-%s", sizes[0], format),
				fmt.Sprintf("compacted-changelog-u$4-%d-%d-%d.cc-%s", sizes[0], sizes[0], sizes[1], format),
			} {
				loc := Resolve(name)
				require.Equal(t, "bucket-4", loc.BucketDir)
				require.Equal(t, fmt.Sprintf("compacted-changelog-u$4-%d.cc-%s", sizes[0], format), loc.Name)
				spec := ReadSpec{Want: l.Schema, File: l.Schema, System: true}
				r, err := Open(io.NewSectionReader(bytes.NewReader(joined), loc.Offset, loc.Length), loc.Length, name, spec)
				require.NoError(t, err)
				drain(t, r, got, spec)
				require.NoError(t, r.Close())
			}
			requireSameRows(t, &all.Batch, &got.Batch)
			require.Equal(t, all.Seq, got.Seq)
			require.Equal(t, all.Kinds, got.Kinds)
		})
	}
}
