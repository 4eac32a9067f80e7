package rowdata

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// AppendPartitionPath appends the directory of a partition, "k=v/k2=v2/", below
// the table (format section 8): the names and values of the partition keys in
// their order, escaped. NULL, empty and blank values become defaultName. With
// legacy (option partition.legacy-name, on by default) dates are day numbers,
// times milliseconds and timestamps ISO texts without trailing zeros; without,
// values are what a cast to string gives.
func AppendPartitionPath(dst []byte, names []string, cols []*Vector, i int, defaultName string, legacy bool) []byte {
	var buf [128]byte
	for k, v := range cols {
		dst = append(EscapePath(dst, names[k]), '=')
		text := buf[:0]
		if !v.IsNull(i) {
			text = appendPartitionValue(text, v, i, legacy)
		}
		if isBlank(text) {
			dst = EscapePath(dst, defaultName)
		} else {
			dst = EscapePath(dst, text)
		}
		dst = append(dst, '/')
	}
	return dst
}

func appendPartitionValue(dst []byte, v *Vector, i int, legacy bool) []byte {
	if legacy {
		switch v.Type.Root {
		case Date, Time:
			return strconv.AppendInt(dst, int64(v.I32[i]), 10)
		case Timestamp, TimestampLTZ:
			return appendShortStamp(dst, v, i)
		}
	}
	return AppendText(dst, v, i)
}

// appendShortStamp appends an ISO timestamp with 0, 3, 6 or 9 digits of
// fraction, as few as there are, and without seconds if all of that is zero.
func appendShortStamp(dst []byte, v *Vector, i int) []byte {
	millis, nanos := v.TimestampAt(i)
	days := floorDiv(millis, millisPerDay)
	rest := millis - days*millisPerDay
	frac := rest%1000*1_000_000 + int64(nanos)
	second := int(rest / 1000)
	dst = appendClock(append(appendDate(dst, days), 'T'), second)
	switch {
	case frac == 0 && second%60 == 0:
		return dst[:len(dst)-len(":00")]
	case frac == 0:
		return dst
	case frac%1_000_000 == 0:
		return appendFraction(dst, frac, 3)
	case frac%1000 == 0:
		return appendFraction(dst, frac, 6)
	}
	return appendFraction(dst, frac, 9)
}

// isBlank tells whether there is nothing but white space as Java defines it:
// the no-break spaces are not, the separators 1c to 1f are.
func isBlank(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		switch {
		case r >= 0x1c && r <= 0x20, r >= '\t' && r <= '\r':
		case r == 0xa0 || r == 0x2007 || r == 0x202f || r == 0x85:
			return false
		case !unicode.Is(unicode.Z, r):
			return false
		}
	}
	return true
}

// pathEscaped tells which bytes a partition directory cannot have as they are.
var pathEscaped = func() (escaped [256]bool) {
	for c := range 0x20 {
		escaped[c] = true
	}
	for _, c := range []byte("\"#%'*/:=?\\{}[]^\x7f") {
		escaped[c] = true
	}
	return escaped
}()

// EscapePath appends a name or value as it stands in a partition directory:
// control characters and " # % ' * / : = ? \ { } [ ] ^ become %XX.
func EscapePath[S string | []byte](dst []byte, s S) []byte {
	for i := range len(s) {
		if c := s[i]; pathEscaped[c] {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// UnescapePath undoes [EscapePath]: every % before two hex digits is replaced,
// any other stays.
func UnescapePath(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
