//go:build interop

package paimonjava

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/paimon/rowdata"
)

// values makes random values of any type in the JSON forms that both sides read,
// with those in them that break things: NULL, extremes, NaN, -0.0, negative
// decimals, times before 1970, text that must be escaped or is long.
type values struct{ *rand.Rand }

func newValues(t *testing.T) *values {
	t.Helper()
	seed := uint64(time.Now().UnixNano() % 1_000_000)
	if s := os.Getenv("SLUICE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("SLUICE_SEED=%d", seed)
	return &values{rand.New(rand.NewPCG(seed, 1))}
}

func pick[T any](r *values, from ...T) T { return from[r.IntN(len(from))] }

func (r *values) chance(n int) bool { return r.IntN(n) == 0 }

// of returns a value of type t, NULL among them if it is nullable.
func (r *values) of(t *rowdata.Type) any {
	if !t.NotNull && r.chance(8) {
		return nil
	}
	if t.IsNested() && t.Root != rowdata.Variant {
		return r.nested(t)
	}
	edge := r.chance(5)
	switch t.Root {
	case rowdata.Boolean:
		return r.chance(2)
	case rowdata.TinyInt:
		return r.integer(8, edge)
	case rowdata.SmallInt:
		return r.integer(16, edge)
	case rowdata.Int:
		return r.integer(32, edge)
	case rowdata.BigInt:
		return r.integer(64, edge)
	case rowdata.Float:
		return r.float(edge, "3.4028235E38", "1.4E-45", "-3.4028235E38")
	case rowdata.Double:
		return r.float(edge, "1.7976931348623157E308", "4.9E-324", "-1.7976931348623157E308")
	case rowdata.Decimal:
		return r.decimal(t.Precision, t.Scale, edge)
	case rowdata.Char, rowdata.Varchar:
		return r.text(t.Length)
	case rowdata.Binary, rowdata.Varbinary:
		return r.bytes(t.Length)
	case rowdata.Date:
		if edge {
			return pick(r, "0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "2000-02-29")
		}
		return r.instant().Format(time.DateOnly)
	case rowdata.Time:
		if edge {
			return pick(r, "00:00:00", r.clock("23:59:59", min(t.Precision, 3), true))
		}
		return r.clock(r.instant().Format(time.TimeOnly), min(t.Precision, 3), false)
	case rowdata.Timestamp:
		return r.stamp(t.Precision, edge)
	case rowdata.TimestampLTZ:
		return r.stamp(t.Precision, edge) + "Z"
	case rowdata.Variant:
		return pick(r, `1`, `"text"`, `{"a":1,"b":[true,null,2.5]}`, `[]`, `null`, `{}`, `-12.5`, `{"deep":{"er":["Ünïcödé",{"x":"y"}]}}`)
	}
	panic("no values of " + t.String())
}

func (r *values) integer(bits int, edge bool) any {
	least, most := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1
	if edge {
		return pick(r, least, most, 0, -1, 1)
	}
	return r.Int64N(1<<(bits-2)) >> r.IntN(bits) * pick[int64](r, 1, -1)
}

// float draws values whose decimal form is short, since Java 17 does not always
// print the shortest.
func (r *values) float(edge bool, extremes ...string) any {
	if edge {
		return pick(r, append(extremes, "NaN", "Infinity", "-Infinity", "-0.0", "0.0")...)
	}
	return json.Number(strconv.FormatFloat(float64(r.IntN(1<<20)-1<<19)/16, 'f', -1, 64))
}

func (r *values) decimal(precision, scale int, edge bool) any {
	digits := r.IntN(precision) + 1
	n := new(big.Int)
	for range digits {
		n.Add(n.Mul(n, big.NewInt(10)), big.NewInt(r.Int64N(10)))
	}
	if edge {
		n.Exp(big.NewInt(10), big.NewInt(int64(pick(r, 0, precision))), nil)
		if n.Sub(n, big.NewInt(1)); n.Sign() == 0 {
			n.SetInt64(pick[int64](r, 0, 1, 128, 255) % pow10(precision))
		}
	}
	if r.chance(2) {
		n.Neg(n)
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
}

func pow10(n int) int64 {
	if n > 3 {
		n = 3
	}
	return []int64{1, 10, 100, 1000}[n]
}

var words = []string{
	"", "a", "ab", "zebra", " ", "Ünïcödé", "日本語", "emoji 🎉", `with "quotes" and \`, "line\nbreak", "NULL", "\x01\u007f",
	"sixteen letters.", "seventeen letters", "a string that is longer than the sixteen characters kept in statistics",
	"ﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀﬀ", "\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff",
}

func (r *values) text(length int) any {
	s := pick(r, words...)
	if r.chance(3) {
		s = fmt.Sprintf("%s%d", s, r.IntN(1000))
	}
	if runes := []rune(s); len(runes) > length {
		s = string(runes[:length])
	}
	return s
}

func (r *values) bytes(length int) any {
	b := make([]byte, r.IntN(min(length, 24)+1))
	for i := range b {
		b[i] = byte(r.IntN(256))
		if r.chance(3) {
			b[i] = 0xff
		}
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (r *values) instant() time.Time {
	return time.Unix(r.Int64N(8_000_000_000)-4_000_000_000, 0).UTC()
}

// clock appends digits of fraction.
func (r *values) clock(s string, digits int, nines bool) string {
	if digits == 0 {
		return s
	}
	fraction := strings.Repeat("9", digits)
	if !nines {
		fraction = fmt.Sprintf("%0*d", digits, r.Int64N(pow10(min(digits, 3)))) + strings.Repeat(strconv.Itoa(r.IntN(10)), max(0, digits-3))
		fraction = fraction[:digits]
	}
	return s + "." + fraction
}

func (r *values) stamp(precision int, edge bool) string {
	if edge {
		return r.clock(pick(r, "0001-01-01T00:00:00", "9999-12-31T23:59:59", "1969-12-31T23:59:59", "1970-01-01T00:00:00"), precision, r.chance(2))
	}
	return r.clock(r.instant().Format("2006-01-02T15:04:05"), precision, false)
}

// nested makes lists, maps and rows. Keys are never NULL, as Parquet files have
// none.
func (r *values) nested(t *rowdata.Type) any {
	n := pick(r, 0, 1, 2, 3)
	switch t.Root {
	case rowdata.Row:
		row := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			row[f.Name] = r.of(f.Type)
		}
		return row
	case rowdata.Array, rowdata.Vec:
		if t.Root == rowdata.Vec {
			n = t.Length
		}
		elem := t.Elem
		if t.Root == rowdata.Vec {
			elem = elem.AsNotNull() // a vector has no NULL
		}
		list := make([]any, n)
		for i := range list {
			list[i] = r.of(elem)
		}
		return list
	}
	key, value := t.Key, t.Elem
	if t.Root == rowdata.Multiset {
		key, value = t.Elem, nil
	}
	pairs := []any{}
	seen := map[string]bool{}
	for range n {
		k := r.of(key.AsNotNull())
		if text := fmt.Sprint(k); seen[text] {
			continue
		} else {
			seen[text] = true
		}
		v := any(r.IntN(5) + 1)
		if value != nil {
			v = r.of(value)
		}
		pairs = append(pairs, []any{k, v})
	}
	return pairs
}

// row makes a row. number, if not negative, is the value of the column at key.
func (r *values) row(t *rowdata.RowType, key, number int) []any {
	row := make([]any, len(t.Fields))
	for i, f := range t.Fields {
		if i == key {
			row[i] = number
			continue
		}
		row[i] = r.of(f.Type)
	}
	return row
}

// inserts makes n new rows whose column at position key counts from first.
func (r *values) inserts(t *rowdata.RowType, key, first, n int) []change {
	out := make([]change, n)
	for i := range out {
		out[i] = change{"+I", r.row(t, key, first+i)}
	}
	return out
}
