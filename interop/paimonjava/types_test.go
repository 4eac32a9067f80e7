//go:build interop

package paimonjava

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/paimon"
)

// atomicTypes are all that have no parts.
var atomicTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
	"DECIMAL(5,2)", "DECIMAL(9,0)", "DECIMAL(18,4)", "DECIMAL(19,3)", "DECIMAL(25,10)", "DECIMAL(38,0)", "DECIMAL(38,38)",
	"CHAR(3)", "VARCHAR(12)", "STRING", "BINARY(4)", "VARBINARY(9)", "BYTES",
	"DATE", "TIME(0)", "TIME(3)", "TIME(9)",
	"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
	"TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(9)",
}

// nestedTypes have parts, several deep. Java's reader of Parquet does not know a
// MULTISET of decimals, not even one of its own.
var nestedTypes = []string{
	"ARRAY<INT>", "ARRAY<STRING NOT NULL>", "ARRAY<ARRAY<ARRAY<BIGINT>>>", "ARRAY<DECIMAL(20,3)>", "ARRAY<TIMESTAMP(6)>", "ARRAY<BYTES>",
	"ARRAY<BOOLEAN>", "MAP<STRING, INT>", "MAP<INT, STRING>", "MAP<BIGINT, MAP<STRING, ARRAY<DOUBLE>>>", "MAP<DATE, BOOLEAN>",
	"MAP<DECIMAL(9,2), BYTES>", "MAP<TIMESTAMP(3), DECIMAL(38,5)>", "ROW<x INT, y STRING>",
	"ROW<x INT, inner ROW<y DOUBLE, deep ROW<z TIMESTAMP(3), l ARRAY<ROW<q DECIMAL(30,4)>>>>>",
	"ARRAY<ROW<k STRING, v MAP<STRING, FLOAT>>>",
	"ROW<d DATE, t TIME(3), lt TIMESTAMP_LTZ(6), ch CHAR(3), bn BINARY(2), b BOOLEAN, ti TINYINT, si SMALLINT>",
	"MULTISET<STRING>", "MULTISET<BIGINT>", "ROW<m MULTISET<INT>, a ARRAY<MAP<INT, ROW<s STRING, d DECIMAL(5,5)>>>>",
}

// columns names a column of each type c0, c1 and so on.
func columns(types ...string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = fmt.Sprintf("c%d %s", i, t)
	}
	return out
}

// inAvro are those of the types that Avro files can hold.
func inAvro(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool {
		return strings.HasSuffix(t, "(9)") || strings.Contains(t, "MULTISET<BIGINT>") || strings.Contains(t, "MULTISET<INT>")
	})
}

// layouts are ways to lay out a table, for columns k, p and q before the others.
type layout struct {
	name    string
	pk      []string
	parts   []string
	options map[string]string
}

var layouts = []layout{
	{"keyed", []string{"k"}, nil, map[string]string{"bucket": "1"}},
	{"keyed, input, 4 buckets", []string{"k"}, nil, map[string]string{"bucket": "4", "changelog-producer": "input"}},
	{"keyed, input, partitioned", []string{"p", "k", "q"}, []string{"q", "p"}, map[string]string{"bucket": "2", "changelog-producer": "input"}},
	{"append", nil, nil, map[string]string{"bucket": "-1"}},
	{"append, partitioned", nil, []string{"p"}, map[string]string{"bucket": "-1"}},
	{"append, bucket key", nil, nil, map[string]string{"bucket": "4", "bucket-key": "k"}},
	{"append, partitioned, bucket key", nil, []string{"p", "q"}, map[string]string{"bucket": "4", "bucket-key": "s,k"}},
}

// formats are ways to write files.
var formats = []map[string]string{
	{"file.format": "parquet"},
	{"file.format": "parquet", "file.compression": "none", "parquet.delta.integers": "false"},
	{"file.format": "parquet", "file.compression": "snappy", "parquet.enable.dictionary": "false"},
	{"file.format": "parquet", "file.compression": "gzip", "file.suffix.include.compression": "true"},
	{"file.format": "parquet", "file.compression": "lz4", "data-file.thin-mode": "true"},
	{"file.format": "avro"},
	{"file.format": "avro", "file.compression": "none", "avro.codec": "null"}, // what Java calls it
	{"file.format": "avro", "file.compression": "snappy"},
	{"file.format": "parquet", "changelog-file.format": "avro", "changelog-file.prefix": "feed-", "data-file.prefix": "rows-", "metadata.stats-mode": "full"},
}

// TestTypesAsValues has every type as a value column, in each format and each
// layout of table.
func TestTypesAsValues(t *testing.T) {
	for i, format := range formats {
		l := layouts[i%len(layouts)]
		t.Run(fmt.Sprintf("%s, %v", l.name, format), func(t *testing.T) {
			t.Parallel()
			testValues(t, l, format)
		})
	}
	for i, l := range layouts {
		format := formats[(i*5+3)%len(formats)]
		t.Run(fmt.Sprintf("%v, %s", format, l.name), func(t *testing.T) {
			t.Parallel()
			testValues(t, l, format)
		})
	}
}

func testValues(t *testing.T, l layout, format map[string]string) {
	types := slices.Concat(atomicTypes, nestedTypes)
	if format["file.format"] == "avro" || format["changelog-file.format"] == "avro" {
		types = inAvro(types)
	}
	options := maps.Clone(l.options)
	maps.Copy(options, format)
	f := ours(t, paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{
			Fields: append([]string{"k INT NOT NULL", "p STRING NOT NULL", "q DATE NOT NULL", "s BIGINT NOT NULL"}, columns(types...)...),
			PK:     l.pk, Partition: l.parts,
		},
		Options: options,
	})
	r := newValues(t)
	rows := r.inserts(f.open("").Schema().RowType(), 0, 1, 60)
	for i := range rows {
		rows[i].Row[1], rows[i].Row[2] = pick(r, "a", "b c", "é/="), pick(r, "2024-02-29", "1969-12-31")
	}
	f.write(rows[:40]...)
	f.write(rows[40:]...)
	again := r.inserts(f.open("").Schema().RowType(), 0, 30, 20)
	for i := range again {
		copy(again[i].Row[1:], rows[29+i].Row[1:4])
		if l.pk != nil {
			again[i].Kind = pick(r, "+I", "+U", "-U", "-D")
		}
	}
	f.write(again...)
	f.agree()
	f.javaStep(map[string]any{"compact": "full"})
	f.agree()
}

// keyTypes are those that a primary key, a bucket key or a partition may have.
var keyTypes = atomicTypes

// TestTypesAsKeys has every type as the whole primary key, in 4 buckets.
func TestTypesAsKeys(t *testing.T) {
	for i, typ := range keyTypes {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			format := formats[i%2*5] // Parquet and Avro
			if strings.HasSuffix(typ, "(9)") {
				format = formats[0]
			}
			options := map[string]string{"bucket": "4", "changelog-producer": "input"}
			maps.Copy(options, format)
			f := ours(t, paimon.SchemaSpec{
				Schema:  paimon.ColumnsSpec{Fields: []string{"v INT", "k " + typ + " NOT NULL"}, PK: []string{"k"}},
				Options: options,
			})
			r := newValues(t)
			for range 3 {
				rows := orderly(r.inserts(f.open("").Schema().RowType(), -1, 0, 40))
				for i := range rows {
					rows[i].Kind = pick(r, "+I", "+U", "+U", "-D")
				}
				f.write(rows...)
			}
			f.agree()
		})
	}
}

// TestTypesTogetherAsKey has all types in one primary key, of which some are
// partition columns, and in a bucket key of an append table.
func TestTypesTogetherAsKey(t *testing.T) {
	fields := make([]string, len(keyTypes))
	names := make([]string, len(keyTypes))
	for i, typ := range keyTypes {
		fields[i], names[i] = fmt.Sprintf("c%d %s NOT NULL", i, typ), fmt.Sprintf("c%d", i)
	}
	slices.Reverse(names)
	for _, spec := range []paimon.SchemaSpec{
		{
			Schema:  paimon.ColumnsSpec{Fields: fields, PK: names},
			Options: map[string]string{"bucket": "4", "changelog-producer": "input"},
		},
		{
			Schema:  paimon.ColumnsSpec{Fields: append(fields, "v STRING")},
			Options: map[string]string{"bucket": "4", "bucket-key": strings.Join(names, ",")},
		},
	} {
		t.Run(fmt.Sprint(len(spec.Schema.PK), " columns of primary key"), func(t *testing.T) {
			t.Parallel()
			f := ours(t, spec)
			r := newValues(t)
			rows := orderly(r.inserts(f.open("").Schema().RowType(), -1, 0, 50))
			f.write(rows...)
			for i := range rows {
				rows[i].Kind = "+U"
			}
			if spec.Schema.PK == nil {
				rows = r.inserts(f.open("").Schema().RowType(), -1, 0, 50)
			}
			f.write(rows[10:]...)
			f.agree()
			f.javaStep(map[string]any{"compact": "full"})
			f.agree()
		})
	}
}

// TestTypesAsPartitions has every type as the partition column, NULL included,
// with names of both kinds.
func TestTypesAsPartitions(t *testing.T) {
	for i, typ := range keyTypes {
		if strings.Contains(typ, "BINARY") || typ == "BYTES" {
			continue // their folders are named after an object's identity
		}
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			f := ours(t, paimon.SchemaSpec{
				Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "p " + typ, "v INT"}, Partition: []string{"p"}},
				Options: map[string]string{"bucket": "-1", "partition.legacy-name": fmt.Sprint(i%2 == 0)},
			})
			r := newValues(t)
			rows := r.inserts(f.open("").Schema().RowType(), 0, 1, 24)
			f.write(rows[:16]...)
			f.write(rows[16:]...)
			f.agree()
		})
	}
}

// TestVariant has VARIANT columns, which only Parquet files have.
func TestVariant(t *testing.T) {
	t.Parallel()
	f := ours(t, paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v VARIANT", "w VARIANT"}, PK: []string{"k"}},
		Options: map[string]string{"bucket": "1", "changelog-producer": "input"},
	})
	r := newValues(t)
	f.write(r.inserts(f.open("").Schema().RowType(), 0, 1, 50)...)
	f.write(r.inserts(f.open("").Schema().RowType(), 0, 25, 50)...)
	f.agree()
}

// TestVector has lists of fixed length, which Java has in Avro files only.
func TestVector(t *testing.T) {
	t.Parallel()
	f := ours(t, paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{
			Fields: []string{"k INT NOT NULL", "v VECTOR<FLOAT, 3>", "w VECTOR<INT NOT NULL, 1>", "x VECTOR<BIGINT, 2>"}, PK: []string{"k"},
		},
		Options: map[string]string{"bucket": "1", "file.format": "avro"},
	})
	f.write(newValues(t).inserts(f.open("").Schema().RowType(), 0, 1, 50)...)
	f.agree()
}

// orderly replaces the floats that Java's comparator of keys does not order: to
// it NaN equals every number, so that it loses rows of tables of its own, and -0.0
// equals 0.0.
func orderly(rows []change) []change {
	for _, r := range rows {
		for i, v := range r.Row {
			if v == "NaN" || v == "-0.0" {
				r.Row[i] = "-Infinity"
			}
		}
	}
	return rows
}
