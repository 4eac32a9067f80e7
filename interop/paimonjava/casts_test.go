//go:build interop

package paimonjava

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/oracle"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// TestCasts changes columns of every type to every type, which Java allows if and
// only if we do, and reads what was written before.
func TestCasts(t *testing.T) {
	for _, from := range atomicTypes {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			testCasts(t, from)
		})
	}
}

// testCasts has a column of type from for each type that it is changed to.
func testCasts(t *testing.T, from string) {
	fields := []string{"k INT NOT NULL"}
	for i := range atomicTypes {
		fields = append(fields, fmt.Sprintf("c%d %s", i, from))
	}
	spec := paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: fields}, Options: map[string]string{"bucket": "-1"}}
	f, other := ours(t, spec), ours(t, spec)
	r := newValues(t)
	typ := f.open("").Schema().Fields[1].Type
	rows := make([]change, 40)
	for i := range rows {
		rows[i] = change{"+I", []any{i}}
		for _, to := range atomicTypes {
			target, err := rowdata.ParseType(to)
			require.NoError(t, err)
			rows[i].Row = append(rows[i].Row, r.castable(typ, target))
		}
	}
	f.write(rows...)
	for i, to := range atomicTypes {
		if to == from {
			continue // Java refuses some of these
		}
		text := fmt.Sprintf("alter column c%d type %s", i, to)
		_, err := java("alter", f.dir, text)
		var refused *oracle.Error
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		c, parseErr := paimon.ParseChange(text)
		require.NoError(t, parseErr)
		_, ourErr := other.cat.AlterTable(t.Context(), tableName, []paimon.Change{c})
		if (err == nil) != (ourErr == nil) {
			t.Errorf("to %s: Java says %v, we say %v", to, err, ourErr)
		}
	}
	f.sameColumns()
}

var fraction = regexp.MustCompile(`\.[0-9]+`)

// castable returns a value of type from for a column that is changed to type to,
// but none of those that Java reads as what the type cannot be.
func (r *values) castable(from, to *rowdata.Type) any {
	if r.chance(8) {
		return nil
	}
	isStamp := from.Root == rowdata.Timestamp || from.Root == rowdata.TimestampLTZ
	toStamp := to.Root == rowdata.Timestamp || to.Root == rowdata.TimestampLTZ
	v := r.of(from.AsNotNull())
	switch {
	case from.IsString() && !to.IsString() && !to.IsBinary():
		// A text that can be read. What cannot is an error for the whole scan in Java.
		text := strings.TrimSuffix(strings.Replace(fmt.Sprint(r.of(to.AsNotNull())), "T", " ", 1), "Z")
		if len(text) > from.Length {
			return nil
		}
		return text
	case from.IsBinary() && to.IsString():
		text := fmt.Sprint("text ", r.IntN(1000)) // bytes that are no UTF-8 become other marks in Java
		return base64.StdEncoding.EncodeToString([]byte(text[:min(len(text), from.Length)]))
	case from.Root == rowdata.BigInt && toStamp:
		return r.Int64N(8_000_000_000) - 4_000_000_000 // milliseconds of greater ones do not fit 64 bits
	case (from.Root == rowdata.Float || from.Root == rowdata.Double) && to.Root == rowdata.Decimal && strings.ContainsAny(fmt.Sprint(v), "Ny"):
		return "1.5" // NaN and infinity are errors
	case isStamp && to.Root == rowdata.Time:
		at := r.clock(time.Unix(r.Int64N(4_000_000_000), 0).UTC().Format("2006-01-02T15:04:05"), from.Precision, false)
		return at + strings.Repeat("Z", int(from.Root-rowdata.Timestamp)) // before 1970 Java has negative times
	case isStamp && toStamp && to.Precision < from.Precision:
		return fraction.ReplaceAllStringFunc(fmt.Sprint(v), func(s string) string { // Java keeps more digits than the type has
			return "." + strings.Repeat("0", len(s)-1)
		})
	}
	return v
}

// sameColumns compares the rows column by column, floats by their value.
func (f *table) sameColumns() {
	f.Helper()
	javas, ours := f.byKey(f.javaRows(where{}, "")), f.byKey(f.rows(where{}, ""))
	require.Len(f, ours, len(javas))
	for _, field := range f.open("").Schema().Fields[1:] {
		for k, row := range javas {
			j, o := string(row[field.Name]), string(ours[k][field.Name])
			if j != o && !sameFloat(field.Type, j, o) {
				f.Errorf("to %s: Java reads %s, we %s", field.Type, j, o)
				break
			}
		}
	}
}

func sameFloat(t *rowdata.Type, a, b string) bool {
	bits := map[rowdata.TypeRoot]int{rowdata.Float: 32, rowdata.Double: 64}[t.Root]
	x, err := strconv.ParseFloat(a, bits)
	y, err2 := strconv.ParseFloat(b, bits)
	return bits != 0 && err == nil && err2 == nil && x == y
}

func (f *table) byKey(lines []string) map[string]map[string]json.RawMessage {
	f.Helper()
	out := make(map[string]map[string]json.RawMessage, len(lines))
	for _, line := range lines {
		var row map[string]json.RawMessage
		require.NoError(f, json.Unmarshal([]byte(line), &row))
		out[string(row["k"])] = row
	}
	return out
}
