package predicate

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/paimon/rowdata"
)

// The naive evaluator works on the texts of values and on a tree of its own,
// made together with the text of the predicate.

type naive func(b *rowdata.Batch, i int) (value, known bool)

type condition struct {
	text string
	eval naive
}

const propertyColumns = "i INT, n TINYINT, d DECIMAL(9,2), w DECIMAL(38,1), g DOUBLE, s STRING, b BOOLEAN, dt DATE, t3 TIMESTAMP(3), t9 TIMESTAMP(9), a ARRAY<INT>"

// value is what a column holds, as something that compares without the package
// under test: a *big.Rat (infinities beyond all numbers, NaN beyond infinity),
// a string, or a bool.
func valueOf(v *rowdata.Vector, i int) any {
	text := string(rowdata.AppendText(nil, v, i))
	switch v.Type.Root {
	case rowdata.Varchar:
		return text
	case rowdata.Boolean:
		return text == "true"
	case rowdata.Date:
		return text + " 00:00:00.000000000"
	case rowdata.Timestamp:
		return text + strings.Repeat("0", 9-v.Type.Precision)
	}
	return number(text)
}

func number(text string) *big.Rat {
	huge := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(1000), nil))
	switch text {
	case "Infinity":
		return huge
	case "-Infinity":
		return huge.Neg(huge)
	case "NaN":
		return huge.Add(huge, huge)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

func compareNaive(a, b any) int {
	switch x := a.(type) {
	case *big.Rat:
		return x.Cmp(b.(*big.Rat))
	case string:
		return strings.Compare(x, b.(string))
	}
	return b2i(a.(bool)) - b2i(b.(bool))
}

// drawLiteral returns a literal for a column and what it stands for; nil: NULL.
func drawLiteral(t *rapid.T, typ *rowdata.Type) (text string, value any) {
	if rapid.IntRange(0, 11).Draw(t, "null") == 0 {
		return "NULL", nil
	}
	switch typ.Root {
	case rowdata.Varchar:
		s := rapid.SampledFrom([]string{"", "a", "ab", "b", "it's", "é", "abc", "ac"}).Draw(t, "text")
		return quote(s), s
	case rowdata.Boolean:
		b := rapid.Bool().Draw(t, "bool")
		return strings.ToUpper(fmt.Sprint(b)), b
	case rowdata.Date, rowdata.Timestamp:
		s := rapid.SampledFrom([]string{"1969-12-31", "1970-01-01", "1970-01-02", "1969-12-31 23:59:59.999", "1970-01-01 00:00:00.0005", "1970-01-01 00:00:00.000000001", "1970-01-01 12:00:00"}).Draw(t, "time")
		full := s
		if len(s) == 10 {
			full += " 00:00:00"
		}
		if !strings.Contains(full, ".") {
			full += "."
		}
		full += strings.Repeat("0", len("1969-12-31 23:59:59.999000000")-len(full))
		if len(s) == 10 {
			return rapid.SampledFrom([]string{"", "DATE "}).Draw(t, "kind") + quote(s), full
		}
		return rapid.SampledFrom([]string{"", "TIMESTAMP "}).Draw(t, "kind") + quote(s), full
	case rowdata.Double:
		if s := rapid.SampledFrom([]string{"", "NaN", "Infinity", "-Infinity"}).Draw(t, "special"); s != "" {
			return quote(s), number(s)
		}
	}
	s := rapid.SampledFrom([]string{"0", "-0.0", "1", "-1", "2", "1.5", "-1.5", "0.25", "0.005", "-0.005", "127", "128", "-128", "-129", "1e2", "15e-1", "3000000000", "-1e20", "1e39"}).Draw(t, "number")
	return s, number(s)
}

func drawLeaf(t *rapid.T, r *rowdata.RowType) condition {
	col := rapid.IntRange(0, len(r.Fields)-1).Draw(t, "col")
	f := r.Fields[col]
	isNull := func(b *rowdata.Batch, i int) bool { return b.Cols[col].IsNull(i) }
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if f.Type.Root == rowdata.Array || kind == 0 {
		if rapid.Bool().Draw(t, "not") {
			return condition{f.Name + " IS NOT NULL", func(b *rowdata.Batch, i int) (bool, bool) { return !isNull(b, i), true }}
		}
		return condition{f.Name + " IS NULL", func(b *rowdata.Batch, i int) (bool, bool) { return isNull(b, i), true }}
	}
	if f.Type.Root == rowdata.Varchar && kind == 1 {
		return drawLike(t, f.Name, col)
	}
	if f.Type.Root == rowdata.Boolean && kind == 1 {
		return condition{f.Name, func(b *rowdata.Batch, i int) (bool, bool) {
			return !isNull(b, i) && b.Cols[col].I32[i] == 1, !isNull(b, i)
		}}
	}
	if kind == 2 {
		return drawIn(t, f, col)
	}
	text, lit := drawLiteral(t, f.Type)
	o := rapid.SampledFrom(opText[:]).Draw(t, "op")
	c := condition{f.Name + " " + o + " " + text, nil}
	if kind == 3 { // the sides exchanged
		c.text = text + " " + map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[o] + " " + f.Name
	}
	c.eval = func(b *rowdata.Batch, i int) (bool, bool) {
		if lit == nil || isNull(b, i) {
			return false, false
		}
		cmp := compareNaive(valueOf(b.Cols[col], i), lit)
		return map[string]bool{"=": cmp == 0, "<>": cmp != 0, "<": cmp < 0, "<=": cmp <= 0, ">": cmp > 0, ">=": cmp >= 0}[o], true
	}
	return c
}

func drawLike(t *rapid.T, name string, col int) condition {
	pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"%", "_", "a", "b", "é", "''"}), 0, 5).Draw(t, "pattern"), "")
	re := regexp.QuoteMeta(strings.ReplaceAll(pattern, "''", "'"))
	like := regexp.MustCompile("^(?s:" + strings.ReplaceAll(strings.ReplaceAll(re, "%", ".*"), "_", ".") + ")$")
	not := rapid.Bool().Draw(t, "not")
	return condition{name + map[bool]string{true: " NOT"}[not] + " LIKE '" + pattern + "'", func(b *rowdata.Batch, i int) (bool, bool) {
		v := b.Cols[col]
		return !v.IsNull(i) && like.Match(v.Bytes(i)) != not, !v.IsNull(i)
	}}
}

func drawIn(t *rapid.T, f rowdata.Field, col int) condition {
	var list []any
	var texts []string
	for range rapid.IntRange(1, 7).Draw(t, "n") {
		text, lit := drawLiteral(t, f.Type)
		texts, list = append(texts, text), append(list, lit)
	}
	not := rapid.Bool().Draw(t, "not")
	return condition{f.Name + map[bool]string{true: " NOT"}[not] + " IN (" + strings.Join(texts, ", ") + ")", func(b *rowdata.Batch, i int) (bool, bool) {
		if b.Cols[col].IsNull(i) {
			return false, false
		}
		known := true
		for _, lit := range list {
			if lit == nil {
				known = false
			} else if compareNaive(valueOf(b.Cols[col], i), lit) == 0 {
				return !not, true
			}
		}
		return not && known, known
	}}
}

func drawCondition(t *rapid.T, r *rowdata.RowType, depth int) condition {
	kind := rapid.IntRange(0, 5).Draw(t, "shape")
	if depth == 0 || kind > 2 {
		return drawLeaf(t, r)
	}
	a := drawCondition(t, r, depth-1)
	if kind == 0 {
		return condition{"NOT (" + a.text + ")", func(b *rowdata.Batch, i int) (bool, bool) {
			v, known := a.eval(b, i)
			return !v && known, known
		}}
	}
	c := drawCondition(t, r, depth-1)
	and := kind == 1
	return condition{"(" + a.text + ") " + map[bool]string{true: "AND", false: "OR"}[and] + " (" + c.text + ")", func(b *rowdata.Batch, i int) (bool, bool) {
		v, vk := a.eval(b, i)
		w, wk := c.eval(b, i)
		if and {
			return v && w, vk && wk || vk && !v || wk && !w
		}
		return v || w, vk && wk || vk && v || wk && w
	}}
}

func drawBatch(t *rapid.T, r *rowdata.RowType) *rowdata.Batch {
	rows := rapid.IntRange(0, 6).Draw(t, "rows")
	b := rowdata.NewBatch(r, rows)
	choices := map[string][]any{
		"i": {-1, 0, 1, 2, 127}, "n": {-128, -1, 0, 1, 127}, "d": {"-0.01", "0", "0.25", "1.50", "2.00"}, "w": {"-1.5", "0", "1.5", "3000000000", "-99999999999999999999"},
		"g": {"-0.0", 0, 1.5, -1.5, "NaN", "Infinity", "-Infinity", 100}, "s": {"", "a", "ab", "abc", "b", "it's", "éa"}, "b": {true, false}, "dt": {"1969-12-31", "1970-01-01", "1970-01-02"},
		"t3": {"1969-12-31 23:59:59.999", "1970-01-01 00:00:00", "1970-01-01 12:00:00"}, "t9": {"1970-01-01 00:00:00", "1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.0005"},
		"a": {[]any{}, []any{1}},
	}
	// Some columns are of one value, so that bounds meet.
	for range rows {
		for c, f := range r.Fields {
			values := choices[f.Name]
			var x any
			switch k := rapid.IntRange(-1, len(values)-1).Draw(t, f.Name); {
			case c%3 == rows%3:
				x = values[rows%len(values)]
			case k >= 0:
				x = values[k]
			}
			if err := rowdata.AppendFromJSON(b.Cols[c], x); err != nil {
				t.Fatal(err)
			}
		}
		b.CloseRow()
	}
	return b
}

// TestPredicateProperty compares the columnar and the single-row evaluation with
// the naive one, and expects no matching row to be pruned.
func TestPredicateProperty(t *testing.T) {
	r := rowType(t, propertyColumns)
	pruned := 0
	rapid.Check(t, func(t *rapid.T) {
		c, b := drawCondition(t, r, 3), drawBatch(t, r)
		p, err := Parse(c.text, r)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		var want []int32
		for i := range b.N {
			if v, known := c.eval(b, i); v && known {
				want = append(want, int32(i))
			}
		}
		require.Equal(t, want, p.NewEvaluator().Select(nil, b), "%s is %s", c.text, p)
		again, err := Parse(p.String(), r)
		require.NoError(t, err, p.String())
		require.Equal(t, want, again.NewEvaluator().Select(nil, b), "%s is %s", c.text, again)
		for i := range b.N {
			v, known := c.eval(b, i)
			require.Equal(t, v && known, p.Match(b, i), c.text)
		}
		stats := drawStats(t, b)
		rows := int64(b.N)
		if rapid.Bool().Draw(t, "rows known") {
			rows = max(rows, -1)
		} else {
			rows = -1
		}
		may := p.MayMatch(func(col int) rowdata.ColumnStats { return stats[col] }, rows)
		if len(want) > 0 && !may {
			t.Fatalf("%s is pruned, but rows %d match", p, want)
		}
		if !may {
			pruned++
		}
	})
	require.Greater(t, pruned, 0)
}

// drawStats returns bounds as writers make them: exact, cut, without NaN, or
// none.
func drawStats(t *rapid.T, b *rowdata.Batch) []rowdata.ColumnStats {
	out := make([]rowdata.ColumnStats, len(b.Cols))
	for c, v := range b.Cols {
		s := rowdata.ColumnStats{Nulls: int64(v.NullCount())}
		if rapid.IntRange(0, 9).Draw(t, "nulls unknown") == 0 {
			s.Nulls = -1
		}
		out[c] = s
		if v.Type.IsNested() || rapid.IntRange(0, 9).Draw(t, "no bounds") == 0 {
			continue
		}
		leaveNaN := rapid.Bool().Draw(t, "without NaN")
		for i := range v.Len() {
			if v.IsNull(i) || v.Storage() == rowdata.StoreF64 && leaveNaN && math.IsNaN(v.F64[i]) {
				continue
			}
			if s.Min == nil || rowdata.Compare(v, i, s.Min, 0) < 0 {
				s.Min = v.Slice(i)
			}
			if s.Max == nil || rowdata.Compare(v, i, s.Max, 0) > 0 {
				s.Max = v.Slice(i)
			}
		}
		if s.Min == nil && rapid.Bool().Draw(t, "null bounds") {
			s.Min, s.Max = rowdata.NewVector(v.Type, 1), rowdata.NewVector(v.Type, 1)
			s.Min.AppendNull()
			s.Max.AppendNull()
		}
		out[c] = rowdata.TruncateStats(s, rapid.IntRange(1, 3).Draw(t, "length"))
	}
	return out
}

func TestMayMatch(t *testing.T) {
	r := rowType(t, "i INT, s STRING, g DOUBLE, t3 TIMESTAMP(3)")
	one := func(typ, text string) *rowdata.Vector {
		parsed, err := rowdata.ParseType(typ)
		require.NoError(t, err)
		v := rowdata.NewVector(parsed, 1)
		require.NoError(t, rowdata.AppendParsed(v, text))
		return v
	}
	stats := []rowdata.ColumnStats{
		{Min: one("INT", "10"), Max: one("INT", "20"), Nulls: 0},
		{Min: one("STRING", "abc"), Max: one("STRING", "abd"), Nulls: 2},
		{Min: one("DOUBLE", "1"), Max: one("DOUBLE", "2"), Nulls: 0},
		{Nulls: 5},
	}
	for text, want := range map[string]bool{
		"i = 9": false, "i = 10": true, "i = 20": true, "i = 21": false, "i < 10": false, "i <= 10": true, "i > 20": false, "i >= 20": true, "i <> 15": true, "i > 19.5": true, "i > 20.5": false,
		"i IN (1, 30)": false, "i IN (1, 15)": true, "i NOT IN (15)": true, "i NOT IN (15, NULL)": false, "i BETWEEN 1 AND 9": false, "i BETWEEN 1 AND 10": true, "i IS NULL": false, "i IS NOT NULL": true,
		"s LIKE 'abc%'": true, "s LIKE 'abd%'": true, "s LIKE 'ab%'": true, "s LIKE 'b%'": false, "s LIKE 'aa%'": false, "s LIKE '%x'": true, "s LIKE '_z%'": true, "s IS NULL": true,
		"g > 2": true, "g = 3": false, "g < 1": false, "g = 'NaN'": true, "g IN (3, 'NaN')": true, "g IN (3, 4)": false,
		"t3 IS NULL": true, "t3 IS NOT NULL": false, "t3 = DATE '2024-01-01'": false, "NOT t3 = DATE '2024-01-01'": false,
		"i = 9 OR s LIKE 'ab%'": true, "i = 9 AND s LIKE 'ab%'": false, "i = 9 OR i = 30": false, "FALSE": false, "NULL": false, "TRUE": true, "i < 99999999999": true, "i > 99999999999": false,
	} {
		p, err := Parse(text, r)
		require.NoError(t, err)
		require.Equal(t, want, p.MayMatch(func(col int) rowdata.ColumnStats { return stats[col] }, 5), text)
		require.False(t, p.MayMatch(func(col int) rowdata.ColumnStats { return stats[col] }, 0), text)
	}
	// Bounds of another type are not used, and a column of one value is exact.
	p, err := Parse("i = 5", r)
	require.NoError(t, err)
	require.True(t, p.MayMatch(func(int) rowdata.ColumnStats {
		return rowdata.ColumnStats{Min: one("BIGINT", "10"), Max: one("BIGINT", "20")}
	}, 5))
	p, err = Parse("i <> 10 OR s LIKE '_b' OR s NOT LIKE 'ab_'", r)
	require.NoError(t, err)
	require.False(t, p.MayMatch(func(col int) rowdata.ColumnStats {
		if col == 0 {
			return rowdata.ColumnStats{Min: one("INT", "10"), Max: one("INT", "10")}
		}
		return rowdata.ColumnStats{Min: one("STRING", "abc"), Max: one("STRING", "abc")}
	}, 5))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"i = 5 AND NOT (s LIKE 'a!%%' ESCAPE '!' OR b)", "d IN (1, 2.5e3, NULL)", "t9 BETWEEN DATE '1970-01-01' AND TIMESTAMP '2024-02-29 01:02:03.5'", "`a` IS NOT NULL", "-1 < i", "s = 'it''s'"} {
		f.Add(s)
	}
	typ, err := rowdata.ParseType("ROW<" + propertyColumns + ">")
	require.NoError(f, err)
	r := &rowdata.RowType{Fields: typ.Fields}
	b := rowdata.NewBatch(r, 2)
	require.NoError(f, rowdata.AppendJSONRow(b, []any{}))
	require.NoError(f, rowdata.AppendJSONRow(b, []any{5, 1, "1.5", "2", 1.5, "ab", true, "1970-01-01", "1970-01-01 00:00:00", "1970-01-01 00:00:00", []any{}}))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text, r)
		if err != nil {
			return
		}
		again, err := Parse(p.String(), r)
		require.NoError(t, err, p.String())
		want := p.NewEvaluator().Select(nil, b)
		require.Equal(t, want, again.NewEvaluator().Select(nil, b), p.String())
		for i := range b.N {
			require.Equal(t, p.Match(b, i), again.Match(b, i))
		}
	})
}
