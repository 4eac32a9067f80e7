package predicate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// rowType reads columns such as "a INT, b STRING".
func rowType(t testing.TB, columns string) *rowdata.RowType {
	t.Helper()
	typ, err := rowdata.ParseType("ROW<" + columns + ">")
	require.NoError(t, err)
	return &rowdata.RowType{Fields: typ.Fields}
}

func batch(t testing.TB, r *rowdata.RowType, rows ...string) *rowdata.Batch {
	t.Helper()
	b := rowdata.NewBatch(r, len(rows))
	for _, s := range rows {
		d := json.NewDecoder(bytes.NewReader([]byte(s)))
		d.UseNumber()
		var x any
		require.NoError(t, d.Decode(&x))
		require.NoError(t, rowdata.AppendJSONRow(b, x), s)
	}
	return b
}

const everyType = "i INT, n TINYINT, l BIGINT, d DECIMAL(9,2), w DECIMAL(38,2), f FLOAT, g DOUBLE, s STRING, c CHAR(3), x BYTES, b BOOLEAN, " +
	"dt DATE, tm TIME(3), t0 TIMESTAMP(0), t6 TIMESTAMP(6), t9 TIMESTAMP(9), z TIMESTAMP_LTZ(3), a ARRAY<INT>, `date` DATE, `a ``b` INT"

// everyRow has, in order of their column, a NULL row and two others.
var everyRow = []string{
	`{}`,
	`{"i":5,"n":-3,"l":9000000000,"d":"1.50","w":"12345678901234567890.25","f":1.1,"g":-0.0,"s":"it's","c":"ab","x":"/wA=","b":true,
	  "dt":"2024-02-29","tm":"12:34:56.789","t0":"2024-02-29T00:00:00","t6":"2024-02-29T01:02:03.456789","t9":"2024-02-29T01:02:03.456789123",
	  "z":"2024-02-29T01:02:03.456","a":[1],"date":"2024-01-01","a ` + "`" + `b":1}`,
	`{"i":-2147483648,"n":127,"l":-1,"d":"-0.01","w":"-0.01","f":"NaN","g":"NaN","s":"","c":"","x":"","b":false,
	  "dt":"1969-12-31","tm":"00:00:00","t0":"1969-12-31T23:59:59","t6":"1969-12-31T23:59:59.999999","t9":"1969-12-31T23:59:59.999999999",
	  "z":"1969-12-31T23:59:59.999","a":[],"date":"2023-12-31","a ` + "`" + `b":2}`,
}

func TestPredicate(t *testing.T) {
	r := rowType(t, everyType)
	b := batch(t, r, everyRow...)
	for text, want := range map[string][]int32{
		"": {0, 1, 2}, "TRUE": {0, 1, 2}, "FALSE": nil, "NULL": nil, "NOT NULL": nil, "NULL OR TRUE": {0, 1, 2}, "NOT (NULL AND FALSE)": {0, 1, 2},
		"i = 5": {1}, "5 = i": {1}, "i <> 5": {2}, "i != 5": {2}, "i < 5": {2}, "5 > i": {2}, "i >= -2147483648": {1, 2}, "i > +4": {1}, "NOT i = 5": {2},
		"i < 5.5": {1, 2}, "i <= 4.5": {2}, "i > 4.99": {1}, "i >= 5.01": nil, "i = 5.0": {1}, "i = 5.5": nil, "i <> 5.5": {1, 2}, "i = 50e-1": {1},
		"n < 1000": {1, 2}, "n > 1000": nil, "n = 1000": nil, "n <> -1000": {1, 2}, "n >= -129": {1, 2}, "n < -1e300": nil, "NOT n > 1000": {1, 2},
		"l > 2147483648": {1}, "l = 9000000000": {1}, "l < 99999999999999999999": {1, 2},
		"d = 1.5": {1}, "d > 1.499": {1}, "d < -0.005": {2}, "d <= -0.011": nil, "d >= -0.011": {1, 2}, "d < 10000000": {1, 2}, "d > 10000000": nil,
		"w = 12345678901234567890.25": {1}, "w < 0": {2}, "w <> 0": {1, 2}, "w > -1": {1, 2},
		"f = 1.1": {1}, "f > 1e30": {2}, "f > 1e300": {2}, "f < 1e300": {1}, "f = 'NaN'": {2}, "f < 'NaN'": {1}, "f <= 'NaN'": {1, 2}, "g = 0": {1}, "g <> 0": {2}, "g < 0": nil,
		"g = 'NaN'": {2}, "g >= 'Infinity'": {2}, "g > '-Infinity'": {1, 2}, "g IN (0, 'NaN')": {1, 2}, "g >= 0": {1, 2}, "g <= 0": {1},
		"s = 'it''s'": {1}, "s = ''": {2}, "s > 'a'": {1}, "s <= 'it'": {2}, "s <> 'x'": {1, 2}, "c = 'ab'": {1}, "x = X'ff00'": {1}, "x > X'fe'": {1}, "x = ''": {2},
		"b": {1}, "NOT b": {2}, "b = FALSE": {2}, "b AND i = 5": {1}, "TRUE = b": {1}, "b > FALSE": {1},
		"dt = '2024-02-29'": {1}, "dt = DATE '2024-02-29'": {1}, "dt < TIMESTAMP '1970-01-01 00:00:00'": {2}, "dt > TIMESTAMP '2024-02-28 23:59:59'": {1},
		"dt = TIMESTAMP '2024-02-29 00:00:01'": nil, "dt <= TIMESTAMP '2024-02-29 00:00:01'": {1, 2}, "dt = '2024-02-29 00:00:00'": {1},
		"tm = '12:34:56.789'": {1}, "tm < TIME '12:00:00'": {2}, "t0 = DATE '2024-02-29'": {1}, "t0 <= '1969-12-31 23:59:59.5'": {2},
		"t6 = '2024-02-29T01:02:03.456789'": {1}, "t6 > '2024-02-29 01:02:03.4567881'": {1}, "t6 < '2024-02-29 01:02:03.4567891'": {1, 2}, "t6 = '2024-02-29 01:02:03.4567891'": nil,
		"t6 < DATE '+500000-01-01'": {1, 2}, "t6 > DATE '-500000-01-01'": {1, 2}, "t9 = TIMESTAMP '2024-02-29 01:02:03.456789123'": {1}, "t9 < DATE '1970-01-01'": {2},
		"z = '2024-02-29T01:02:03.456Z'": {1}, "z < TIMESTAMP '1970-01-01 00:00:00'": {2},
		"i IS NULL": {0}, "i IS NOT NULL": {1, 2}, "NOT i IS NULL": {1, 2}, "a IS NULL": {0}, "a IS NOT NULL": {1, 2},
		"i IN (1, 5)": {1}, "i NOT IN (1, 5)": {2}, "NOT i IN (1, 5)": {2}, "i IN (5, NULL)": {1}, "i NOT IN (5, NULL)": nil, "i IN (NULL)": nil, "i IN (5.5)": nil, "i NOT IN (5.5)": {1, 2},
		"i IN (1,2,3,4,5,6,7)": {1}, "l IN (1,2,3,4,-1,6,7,1e30)": {2}, "s IN ('a','b','c','d','it''s')": {1}, "d IN (1.5, 1.50, 7)": {1}, "w IN (1,2,3,4,5,-0.01)": {2}, "dt IN ('1969-12-31', '2024-01-01')": {2},
		"i BETWEEN 5 AND 6": {1}, "i NOT BETWEEN 5 AND 6": {2}, "i BETWEEN 6 AND 5": nil, "i BETWEEN 4.5 AND 5.5": {1}, "i BETWEEN 5 AND NULL": nil, "i NOT BETWEEN 6 AND NULL": {1, 2}, "i NOT BETWEEN NULL AND 4": {1},
		"s LIKE 'it%'": {1}, "s LIKE '%'": {1, 2}, "s LIKE '____'": {1}, "s NOT LIKE 'i%'": {2}, "s LIKE ''": {2}, "s LIKE 'IT%'": nil, "NOT s LIKE '_%'": {2},
		"i = NULL": nil, "NULL = i": nil, "i <> NULL": nil, "i = 5 OR s = ''": {1, 2}, "i = 5 AND s = ''": nil, "i IS NULL OR i = 5 AND NOT b": {0}, "(i IS NULL OR i = 5) AND (b OR i IS NULL)": {0, 1},
		"NOT (i = 5 OR b)": {2}, "NOT (i = 5 AND n = 0)": {1, 2}, "`i` = 5": {1}, `"i" = 5`: {1}, "date = DATE '2024-01-01'": {1}, "date < '2024-01-01'": {2}, "`a ``b` = 2": {2},
		"i=5and b": {1}, " \t\n i\r=\t5 ": {1}, "i = .5e1": {1}, "i = 5.": {1}, "not not i = 5": {1},
	} {
		t.Run(text, func(t *testing.T) {
			p, err := Parse(text, r)
			require.NoError(t, err)
			checkPredicate(t, p, b, want)
			again, err := Parse(p.String(), r)
			require.NoError(t, err, p.String())
			require.Equal(t, p.String(), again.String())
			checkPredicate(t, again, b, want)
		})
	}
}

func checkPredicate(t *testing.T, p *Predicate, b *rowdata.Batch, want []int32) {
	t.Helper()
	e := p.NewEvaluator()
	require.Equal(t, want, e.Select(nil, b))
	require.Equal(t, want, e.Select(nil, b), "the second time")
	keep := make([]bool, b.N)
	e.Mask(keep, b)
	for i := range b.N {
		require.Equal(t, keep[i], p.Match(b, i))
	}
}

func TestPredicateErrors(t *testing.T) {
	r := rowType(t, everyType)
	for text, want := range map[string]struct {
		offset int
		what   string
	}{
		"q = 1": {0, "no column q"}, "i": {1, "comparison of column i"}, "i =": {3, "want a literal"}, "i = j": {4, "want a literal"}, "i == 5": {3, "want a literal"},
		"i = 'x'": {4, "cannot be compared with a text"}, "s = 5": {4, "STRING"}, "b = 1": {4, "BOOLEAN"}, "b = 'true'": {4, "BOOLEAN"}, "i = TRUE": {4, "a boolean"}, "d = '1.5'": {4, "DECIMAL"},
		"a = 1": {4, "IS NULL"}, "a = NULL": {4, "IS NULL"}, "a IN (1)": {6, "IS NULL"}, "dt = 5": {5, "DATE"}, "dt = 'x'": {5, "DATE"}, "dt = DATE '2023-02-29'": {5, "a date"}, "t6 = TIMESTAMP '5'": {5, "a timestamp"},
		"dt = TIME '12:00:00'": {5, "a time"}, "tm = '25:00:00'": {5, "TIME"}, "g = 'x'": {4, "DOUBLE"}, "x = X'f'": {5, "hex digits"}, "i = 1e9999999": {4, "a number"}, "i = 1e401": {4, "a number"},
		"i IS 5": {5, "want NULL"}, "i IN 5": {5, `want "("`}, "i IN ()": {6, "want a literal"}, "i IN (1": {7, `want ","`}, "i IN (1,)": {8, "want a literal"}, "i NOT 5": {6, "want IN, BETWEEN or LIKE"},
		"i BETWEEN 1": {11, "want AND"}, "i BETWEEN 1 OR 2": {12, "want AND"}, "i LIKE 'x'": {7, "LIKE wants text"}, "s LIKE 5": {7, "pattern in quotes"}, "s LIKE 'x' ESCAPE 'ab'": {18, "single character"},
		"s LIKE 'a!b' ESCAPE '!'": {7, "escape character"}, "s LIKE 'a!' ESCAPE '!'": {7, "escape character"}, "(i = 5": {6, `want ")"`}, "i = 5)": {5, "want AND, OR or the end"}, "i = 5 6": {6, "want AND"},
		"AND": {0, "want a column"}, "i = 5 AND": {9, "want a column"}, "NOT": {3, "want a column"}, "5": {1, "want a comparison"}, "5 = 5": {4, "want a column"}, "'x": {0, "not closed"}, "`i": {0, "not closed"},
		"i = 5 ; DROP": {6, `unexpected ";"`}, "é = 5": {0, "no column é"}, "i ≥ 5": {2, "want a comparison"}, "i = - x": {6, "want a number"}, "DATE 'x'": {8, "want a comparison"}, "\xff": {0, "no UTF-8"},
		strings.Repeat("(", 200) + "TRUE": {129, "deeper"}, strings.Repeat("NOT ", 200) + "TRUE": {516, "deeper"}, strings.Repeat(" ", TextMaxBytes+1): {TextMaxBytes, "bytes"},
		"s LIKE '" + strings.Repeat("_", PatternMaxBytes+1) + "'": {7, "pattern has"},
	} {
		_, err := Parse(text, r)
		var e *SyntaxError
		require.ErrorAs(t, err, &e, text)
		require.ErrorContains(t, err, want.what, text)
		require.Equal(t, want.offset, e.Offset, "%s: %s", text, err)
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern string
		escape  rune
		yes, no []string
	}{
		{"abc", -1, []string{"abc"}, []string{"", "ab", "abcd", "xabc"}},
		{"a%c", -1, []string{"ac", "abc", "abcbc"}, []string{"a", "c", "acb", "xac"}},
		{"%b%", -1, []string{"b", "abc", "bb"}, []string{"", "ac"}},
		{"a_c", -1, []string{"abc", "aéc", "a🎉c"}, []string{"ac", "abbc"}},
		{"%a_c%e_", -1, []string{"abcef", "xaacabcexey", "aaacdeé"}, []string{"ace", "abcde", "abce"}},
		{"_%_", -1, []string{"ab", "éé", "abc"}, []string{"", "a", "é"}},
		{"%_", -1, []string{"a", "ab"}, []string{""}},
		{"%%", -1, []string{"", "a"}, nil},
		{"%ab%ab", -1, []string{"abab", "xabyab", "ababab"}, []string{"ab", "aab", "abba"}},
		{"100!%", '!', []string{"100%"}, []string{"100", "1000"}},
		{"a!_b!!%", '!', []string{"a_b!", "a_b!x"}, []string{"axb!", "a_b"}},
		{`%\%`, '\\', []string{"%", "5%"}, []string{"5", `5\`}},
		{"_é", -1, []string{"éé", "aé"}, []string{"é", "a"}},
	} {
		p, ok := newPattern(c.pattern, c.escape)
		require.True(t, ok)
		for _, s := range c.yes {
			require.True(t, p.match([]byte(s)), "%q LIKE %q", s, c.pattern)
		}
		for _, s := range c.no {
			require.False(t, p.match([]byte(s)), "%q LIKE %q", s, c.pattern)
		}
	}
}

func TestColumnsAndRemap(t *testing.T) {
	r := rowType(t, "a INT, b INT, c STRING")
	p, err := Parse("c LIKE 'x%' AND (a = 1 OR a IS NULL) AND NOT c IN ('y')", r)
	require.NoError(t, err)
	require.Equal(t, []int{0, 2}, p.Columns())
	q := p.Remap(func(col int) int { return 2 - col })
	require.Equal(t, []int{0, 2}, q.Columns())
	b := batch(t, r, `[1,2,"xy"]`, `[2,2,"xy"]`, `[null,2,"x"]`)
	require.Equal(t, []int32{0, 2}, p.NewEvaluator().Select(nil, b))
	require.Equal(t, []int32{0, 2}, q.NewEvaluator().Select(nil, b.Project([]int{2, 1, 0})))
}

func BenchmarkEvaluatorSelect(b *testing.B) {
	r := rowType(b, "id BIGINT, status STRING, amount DECIMAL(12,2), price DOUBLE")
	data := rowdata.NewBatch(r, 4096)
	for i := range 4096 {
		data.Cols[0].AppendI64(int64(i))
		data.Cols[1].AppendString([]string{"new", "paid", "shipped", "returned"}[i*7%4])
		data.Cols[2].AppendI64(int64(i * 7919 % 10_000))
		data.Cols[3].AppendF64(float64(i))
		data.CloseRow()
	}
	for _, text := range []string{"id > 2000", "id > 100 AND amount <= 50.00", "status IN ('paid', 'shipped')", "status LIKE 'ship%'", "price < 1000 OR status = 'new'"} {
		b.Run(text, func(b *testing.B) {
			p, err := Parse(text, r)
			require.NoError(b, err)
			e := p.NewEvaluator()
			var sel []int32
			b.ReportAllocs()
			report := cpuRate(b, data.N)
			for b.Loop() {
				sel = e.Select(sel[:0], data)
			}
			report()
		})
	}
}

// cpuRate returns a function that reports rows per second of processor time,
// which other work on the machine disturbs less than the time of the clock.
func cpuRate(b *testing.B, rows int) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	return func() {
		b.ReportMetric(float64(rows)*float64(b.N)/(used()-start).Seconds()/1e6, "Mrows/cpu-s")
	}
}

func ExampleParse() {
	typ, _ := rowdata.ParseType("ROW<id BIGINT, status STRING>")
	row := &rowdata.RowType{Fields: typ.Fields}
	p, err := Parse("status IN ('paid', 'sent') AND id >= 9.5", row)
	fmt.Println(p, err)
	_, err = Parse("state = 'paid'", row)
	fmt.Println(err)
	// Output:
	// `status` IN ('paid', 'sent') AND `id` > 9 <nil>
	// predicate: byte 0: there is no column state
}
