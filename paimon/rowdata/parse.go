package rowdata

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// AppendParsed appends the value that CAST(s AS type) gives: NULL for a decimal
// that does not fit, otherwise a value or an error, a [*ValueError], which leaves
// the vector as it was. Text and bytes are cut to their length. TIMESTAMP_LTZ is
// read as UTC.
func AppendParsed(v *Vector, s string) error {
	switch t := v.Type; t.Root {
	case Char, Varchar, Binary, Varbinary, Blob:
		appendSized(v, []byte(s))
		return nil
	case Boolean:
		b, ok := parseBool(s)
		if !ok {
			return valueError(t, s, "")
		}
		v.AppendBool(b)
		return nil
	case TinyInt, SmallInt, Int, BigInt:
		x, err := parseInteger(t, s)
		if err != nil {
			return err
		}
		if t.Root == BigInt {
			v.AppendI64(x)
		} else {
			v.AppendI32(int32(x))
		}
		return nil
	case Float, Double:
		x, ok := parseFloat(s, 32<<b2i(t.Root == Double))
		if !ok {
			return valueError(t, s, "")
		}
		if t.Root == Double {
			v.AppendF64(x)
		} else {
			v.AppendF32(float32(x))
		}
		return nil
	case Decimal:
		x, fits, valid := parseDecimal(s, t.Precision, t.Scale)
		switch {
		case !valid:
			return valueError(t, s, "")
		case !fits:
			v.AppendNull()
		default:
			appendDecimalValue(v, x)
		}
		return nil
	case Date:
		days, ok := parseDate(s)
		if !ok {
			return valueError(t, s, "")
		}
		v.AppendI32(days)
		return nil
	case Time:
		ms, ok := parseTime(s)
		if !ok {
			return valueError(t, s, "")
		}
		v.AppendI32(ms)
		return nil
	case Timestamp, TimestampLTZ:
		ms, ns, ok := parseStamp(s, t, true)
		if !ok || !stampFits(v, ms) {
			return valueError(t, s, "")
		}
		ms, ns = cutStamp(ms, ns, t.Precision)
		v.AppendTimestamp(ms, ns)
		return nil
	}
	return parseNested(v, s)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func parseBool(s string) (b, ok bool) {
	switch strings.ToLower(s) {
	case "t", "true", "y", "yes", "1":
		return true, true
	case "f", "false", "n", "no", "0":
		return false, true
	}
	return false, false
}

// integerBits are the widths of integer types.
func integerBits(t *Type) int {
	switch t.Root {
	case TinyInt:
		return 8
	case SmallInt:
		return 16
	case BigInt:
		return 64
	}
	return 32
}

// parseInteger reads a whole number; digits behind a point are cut off.
func parseInteger(t *Type, s string) (int64, error) {
	whole, frac, point := strings.Cut(s, ".")
	for _, c := range []byte(frac) {
		if c < '0' || c > '9' {
			return 0, valueError(t, s, "")
		}
	}
	if point && frac != "" && (whole == "" || whole == "-" || whole == "+") {
		whole += "0"
	}
	x, err := strconv.ParseInt(whole, 10, integerBits(t))
	if errors.Is(err, strconv.ErrRange) {
		return 0, valueError(t, s, "it is out of range")
	}
	if err != nil {
		return 0, valueError(t, s, "")
	}
	return x, nil
}

// parseFloat reads a number as Java does: spaces around it and one of the
// letters f and d behind it count for nothing; too large is infinite.
func parseFloat(s string, size int) (float64, bool) {
	s = strings.TrimSpace(s)
	switch s {
	case "NaN", "+NaN", "-NaN":
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if n := len(s) - 1; n > 0 && strings.IndexByte("fFdD", s[n]) >= 0 {
		s = s[:n]
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && strings.IndexByte("+-.eE", c) < 0 {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(s, size)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return x, true
}

// allDigits tells whether s is a number without sign, and not empty.
func allDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// isInteger tells whether s is digits with an optional minus.
func isInteger(s string) bool { return allDigits(strings.TrimPrefix(s, "-")) }

// smallNumber reads up to limit digits.
func smallNumber(s string, digits int) (int, bool) {
	s = strings.TrimSpace(s)
	if len(s) > digits || !allDigits(s) {
		return 0, false
	}
	n, _ := strconv.Atoi(s)
	return n, true
}

// parseDate reads y-m-d, y-m or y with anything behind a space or T; a plain
// number is a count of days since 1970-01-01.
func parseDate(s string) (days int32, ok bool) {
	if isInteger(s) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int32(n), err == nil
	}
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " T"); i >= 0 {
		s = s[:i]
	}
	d, ok := parseYMD(s, false)
	return int32(d), ok && d == int64(int32(d))
}

// parseYMD reads a date. With clamp a day up to 31 counts as the last day of a
// shorter month.
func parseYMD(s string, clamp bool) (days int64, ok bool) {
	sign, digits := int64(1), 4
	if strings.HasPrefix(s, "+") {
		s, digits = s[1:], 9
	} else if strings.HasPrefix(s, "-") {
		s, digits, sign = s[1:], 9, -1
	}
	ys, rest, more := strings.Cut(s, "-")
	y, ok := smallNumber(ys, digits)
	if !ok || !more {
		return daysOf(int64(y), 1, 1), ok && digits == 4
	}
	ms, ds, more := strings.Cut(rest, "-")
	m, ok := smallNumber(ms, 2)
	if !ok || m < 1 || m > 12 {
		return 0, false
	}
	d := 1
	if more {
		if d, ok = smallNumber(ds, 2); !ok || d < 1 {
			return 0, false
		}
	}
	year := sign * int64(y)
	if last := daysInMonth(year, m); d > last {
		if !clamp || d > 31 {
			return 0, false
		}
		d = last
	}
	return daysOf(year, m, d), true
}

// parseTime reads h:m:s.f, h:m or h; a plain number is milliseconds of the day.
func parseTime(s string) (millis int32, ok bool) {
	if allDigits(s) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int32(n), err == nil && n < millisPerDay
	}
	nanos, ok := parseClock(strings.TrimSpace(s))
	if nanos >= millisPerDay*1_000_000 {
		return 0, false
	}
	return int32(nanos / 1_000_000), ok
}

// parseClock reads a time of day in nanoseconds; 24:00:00 is one, too.
func parseClock(s string) (nanos int64, ok bool) {
	var part [3]int
	var frac string
	if i := strings.IndexByte(s, '.'); i >= 0 {
		if s, frac = s[:i], s[i+1:]; strings.Count(s, ":") != 2 || !allDigits(frac) && frac != "" {
			return 0, false
		}
	}
	for i := range part {
		head, rest, more := strings.Cut(s, ":")
		if part[i], ok = smallNumber(head, 2); !ok {
			return 0, false
		}
		if s = rest; !more {
			break
		}
		if i == 2 {
			return 0, false
		}
	}
	for i := range 9 {
		nanos *= 10
		if i < len(frac) {
			nanos += int64(frac[i] - '0')
		}
	}
	second := int64(part[0]*3600 + part[1]*60 + part[2])
	if part[0] > 24 || part[1] > 59 || part[2] > 59 || second > secsPerDay || second == secsPerDay && nanos > 0 {
		return 0, false
	}
	return second*1e9 + nanos, true
}

// parseStamp reads a date with an optional time of day behind a space or T, and
// an optional Z; a plain number counts units of the type's precision. With clamp
// the 31st of any month is its last day.
func parseStamp(s string, t *Type, clamp bool) (millis int64, nanos int32, ok bool) {
	if t.Root == Timestamp && isInteger(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case t.Precision == 0:
			return n * 1000, 0, err == nil && n <= math.MaxInt64/1000 && n >= math.MinInt64/1000
		case t.Precision <= 3:
			return n, 0, err == nil
		case t.Precision <= 6:
			return floorDiv(n, 1000), int32(floorMod(n, 1000)) * 1000, err == nil
		}
		return floorDiv(n, 1_000_000), int32(floorMod(n, 1_000_000)), err == nil
	}
	s = strings.TrimSuffix(strings.TrimSpace(s), "Z")
	date, clock := s, ""
	if i := strings.IndexAny(s, " T"); i >= 0 {
		date, clock = s[:i], s[i+1:]
		if clock == "" {
			return 0, 0, false
		}
	}
	if strings.Count(date, "-") < 2 {
		return 0, 0, false
	}
	days, ok := parseYMD(date, clamp)
	if !ok {
		return 0, 0, false
	}
	of := int64(0)
	if clock != "" {
		if of, ok = parseClock(clock); !ok {
			return 0, 0, false
		}
	}
	return days*millisPerDay + of/1_000_000, int32(of % 1_000_000), true
}

// stampFits tells whether the milliseconds fit the storage of v.
func stampFits(v *Vector, millis int64) bool {
	return v.store == StoreNanos || v.Type.Precision <= 3 || millis < math.MaxInt64/1000-1 && millis > math.MinInt64/1000+1
}

// cutStamp cuts off the digits behind the precision, towards the past.
func cutStamp(millis int64, nanos int32, precision int) (int64, int32) {
	if precision <= 3 {
		unit := pow10[3-precision]
		return floorDiv(millis, unit) * unit, 0
	}
	unit := int32(pow10[9-precision])
	return millis, nanos / unit * unit
}
