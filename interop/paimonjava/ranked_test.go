//go:build interop

package paimonjava

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"sluice/paimon/rowdata"
)

// bigRows is how many rows a big table has. Ranks go from -bigRows/2 to
// bigRows/2.
const bigRows = 24_000

// holeFrom and holeTo are ranks that no row has, so that a filter has something
// to look for in vain between the values.
const holeFrom, holeTo = 3000, 3100

// ranked returns a value of type t that is greater the greater the rank is, as
// JSON. Rows that are nearly in order of rank make pages with narrow bounds, by
// which a reader leaves pages out: wrong bounds lose rows.
func ranked(t *rowdata.Type, rank int) any {
	switch t.Root {
	case rowdata.Boolean:
		return rank >= 0
	case rowdata.TinyInt:
		return (rank+bigRows)/100 - bigRows/100
	case rowdata.SmallInt:
		return rank
	case rowdata.Int:
		return rank * 50_000
	case rowdata.BigInt:
		return int64(rank) * 300_000_000_000_000
	case rowdata.Float, rowdata.Double:
		return json.Number(strconv.FormatFloat(float64(rank)*0.25+0.125, 'f', -1, 64))
	case rowdata.Decimal:
		n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision-5)), nil)
		n.Mul(n, big.NewInt(int64(rank)))
		n.Add(n, big.NewInt(int64(rank)))
		return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)).FloatString(t.Scale)
	case rowdata.Char:
		x := (rank + bigRows/2) / 2
		return string([]byte{'a' + byte(x/676%26), 'A' + byte(x/26%26), 'a' + byte(x%26)})
	case rowdata.Varchar:
		if t.Length < rowdata.MaxLength {
			return fmt.Sprintf("%012d", rank+bigRows)
		}
		// Longer than what statistics keep, and equal as far as they do, with letters
		// whose order in UTF-16 is not the one in UTF-8.
		return fmt.Sprintf("日本 a beginning that all have in common \U0001F389%08d\uffe6", rank+bigRows)
	case rowdata.Binary, rowdata.Varbinary:
		// Filters of Java compare bytes with their sign, unlike its statistics, so none
		// that differ have the highest bit.
		b := []byte(fmt.Sprintf("%04x", rank+bigRows))
		if t.Root == rowdata.Varbinary && t.Length == rowdata.MaxLength {
			// No prefix of this has a next greater one.
			b = append([]byte(strings.Repeat("\xff", 20)), b...)
		}
		return base64.StdEncoding.EncodeToString(b)
	case rowdata.Date:
		return time.Unix(int64(rank)*86400, 0).UTC().Format(time.DateOnly)
	case rowdata.Time:
		text := time.UnixMilli(int64(rank+bigRows/2)*3001 + 5_000_000).UTC().Format("15:04:05.000")
		return text[:8+fractionLen(min(t.Precision, 3))]
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		text := time.Unix(int64(rank)*3600, int64(rank+bigRows)*7_001+123_456_789).UTC().Format("2006-01-02T15:04:05.000000000")
		text = text[:19+fractionLen(t.Precision)]
		if t.Root == rowdata.TimestampLTZ {
			text += "Z"
		}
		return text
	}
	panic("no ranks of " + t.String())
}

// fractionLen is the length of a point and so many digits.
func fractionLen(digits int) int {
	if digits == 0 {
		return 0
	}
	return digits + 1
}

// literal returns the value as it is written in a condition of ours.
func literal(t *rowdata.Type, value any) string {
	text := fmt.Sprint(value)
	switch t.Root {
	case rowdata.Char, rowdata.Varchar:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case rowdata.Binary, rowdata.Varbinary:
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			panic(err)
		}
		return "X'" + hex.EncodeToString(b) + "'"
	case rowdata.Date:
		return "DATE '" + text + "'"
	case rowdata.Time:
		return "TIME '" + text + "'"
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		return "TIMESTAMP '" + strings.TrimSuffix(text, "Z") + "'"
	}
	return text
}

// condition is one comparison of a column, as each side writes it.
type condition struct{ java, ours string }

func compare(f *rowdata.Field, op string, rank int) condition {
	value := ranked(f.Type, rank)
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return condition{
		java: f.Name + " " + op + " " + string(text),
		ours: f.Name + " " + op + " " + literal(f.Type, value),
	}
}

// conditions are comparisons of a column with values that it has and that it has
// not, inside of its range and beyond.
func conditions(f *rowdata.Field, hit int) []condition {
	const low, high = -bigRows / 2, bigRows / 2
	out := []condition{{f.Name + " is null", f.Name + " IS NULL"}, {f.Name + " is not null", f.Name + " IS NOT NULL"}}
	if f.Type.IsNested() {
		return out
	}
	out = append(out,
		compare(f, "=", hit), compare(f, "=", (holeFrom+holeTo)/2),
		compare(f, "<", low+250), compare(f, "<=", low+240), compare(f, "<", low),
		compare(f, ">", high-250), compare(f, ">=", high-240), compare(f, ">", high-1),
		compare(f, ">=", hit), compare(f, "<=", hit),
	)
	if t := f.Type.Root; t != rowdata.Time && t != rowdata.Char && t != rowdata.Boolean { // whose ranks end here
		out = append(out, compare(f, "<", low-200), compare(f, "=", low-150), compare(f, ">", high+200), compare(f, "=", high+150))
	}
	return out
}
