package rowdata

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The JSON form of values: numbers for integers and floats (with "NaN",
// "Infinity" and "-Infinity" as strings), strings for decimals with all digits
// of their scale, text, base64 of binaries, ISO dates and times with as many
// digits as the type has, TIMESTAMP_LTZ in UTC with Z; lists for arrays; objects
// for rows and for maps with text keys, else lists of [key, value], sorted by
// the JSON text of the key. A VARIANT is a string with its JSON text.

// AppendJSONObject appends row i as an object by column name, in column order.
// Use a [JSONEncoder] for many rows.
func AppendJSONObject(dst []byte, b *Batch, i int) []byte {
	return appendObject(dst, b.Type.Fields, b.Cols, i)
}

// JSONEncoder appends rows of one row type as objects. It is immutable and may
// be shared.
type JSONEncoder struct {
	heads [][]byte // {"a": and ,"b":
}

// NewJSONEncoder returns an encoder for rows with these fields.
func NewJSONEncoder(fields []Field) *JSONEncoder {
	e := &JSONEncoder{heads: make([][]byte, len(fields))}
	for i := range fields {
		e.heads[i] = append(AppendJSONString([]byte{"{,"[min(i, 1)]}, fields[i].Name), ':')
	}
	return e
}

// AppendObject appends row i as [AppendJSONObject] does.
func (e *JSONEncoder) AppendObject(dst []byte, cols []*Vector, i int) []byte {
	if len(cols) == 0 {
		return append(dst, "{}"...)
	}
	for c, v := range cols {
		dst = AppendJSON(append(dst, e.heads[c]...), v, i)
	}
	return append(dst, '}')
}

// AppendJSONArray appends row i as a list of values in column order.
func AppendJSONArray(dst []byte, b *Batch, i int) []byte {
	dst = append(dst, '[')
	for c, v := range b.Cols {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSON(dst, v, i)
	}
	return append(dst, ']')
}

func appendObject(dst []byte, fields []Field, cols []*Vector, i int) []byte {
	dst = append(dst, '{')
	for c, v := range cols {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendJSONString(dst, fields[c].Name), ':')
		dst = AppendJSON(dst, v, i)
	}
	return append(dst, '}')
}

// AppendJSON appends row i as a JSON value.
func AppendJSON(dst []byte, v *Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t := v.Type; t.Root {
	case Boolean:
		return strconv.AppendBool(dst, v.I32[i] != 0)
	case TinyInt, SmallInt, Int:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case BigInt:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case Float:
		return appendJSONFloat(dst, float64(v.F32[i]), 32)
	case Double:
		return appendJSONFloat(dst, v.F64[i], 64)
	case Char, Varchar:
		return AppendJSONString(dst, v.Bytes(i))
	case Decimal:
		return append(appendDecimal(append(dst, '"'), v, i), '"')
	case Date:
		return append(appendDate(append(dst, '"'), int64(v.I32[i])), '"')
	case Time:
		return append(appendTime(append(dst, '"'), v.I32[i], t.Precision, true), '"')
	case Timestamp:
		millis, nanos := v.TimestampAt(i)
		return append(appendStamp(append(dst, '"'), millis, nanos, 'T', t.Precision, true), '"')
	case TimestampLTZ:
		millis, nanos := v.TimestampAt(i)
		return append(appendStamp(append(dst, '"'), millis, nanos, 'T', t.Precision, true), `Z"`...)
	case Variant:
		return AppendJSONString(dst, appendVariantJSON(nil, v, i))
	case Row:
		return appendObject(dst, t.Fields, v.Children, i)
	case Map, Multiset:
		return appendJSONMap(dst, v, i)
	case Array, Vec:
		dst = append(dst, '[')
		for k := v.Offs[i]; k < v.Offs[i+1]; k++ {
			if k > v.Offs[i] {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, v.Children[0], int(k))
		}
		return append(dst, ']')
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, v.Bytes(i))
	return append(dst, '"')
}

func appendJSONFloat(dst []byte, x float64, size int) []byte {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		return appendFloat(dst, x, size)
	}
	return append(appendFloat(append(dst, '"'), x, size), '"')
}

// AppendJSONString appends s as a JSON string. Only what must be is escaped;
// bytes that are no UTF-8 become U+FFFD.
func AppendJSONString[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	at := len(dst)
	dst = append(dst, s...)
	n := plainLen(dst[at:])
	if n == len(s) {
		return append(dst, '"')
	}
	dst = dst[:at+n]
	for i := n; i < len(s); {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, size := decodeRune(s, i)
			dst = utf8.AppendRune(dst, r)
			i += size
		case jsonPlain(c):
			dst = append(dst, c)
			i++
		default:
			dst = appendEscape(dst, c)
			i++
		}
	}
	return append(dst, '"')
}

// jsonPlain tells whether an ASCII character stands for itself.
func jsonPlain(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' }

// plainLen returns how many bytes at the start of b are ASCII characters that
// stand for themselves, looking at 8 of them at a time.
func plainLen(b []byte) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, slash := x^low*'"', x^low*'\\'
		// The highest bit of a byte is set if it is no ASCII, below 0x20, or equal
		// to one of the two; carries from a set one may set others above it.
		if (x|(x-low*0x20)|(quote-low)&^quote|(slash-low)&^slash)&high != 0 {
			break
		}
	}
	for n < len(b) && b[n] < utf8.RuneSelf && jsonPlain(b[n]) {
		n++
	}
	return n
}

const hexDigits = "0123456789ABCDEF"

func decodeRune[S string | []byte](s S, i int) (rune, int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], s[i:min(i+utf8.UTFMax, len(s))])
	return utf8.DecodeRune(buf[:n])
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendJSONMap appends an object if the keys are text, else a list of pairs.
func appendJSONMap(dst []byte, v *Vector, i int) []byte {
	type entry struct {
		row      int
		from, to int // of the key's text
	}
	var buf [512]byte
	var room [16]entry
	text, entries := buf[:0], room[:0]
	keys := v.Children[0]
	object := keys.Type.IsString()
	for k := int(v.Offs[i]); k < int(v.Offs[i+1]); k++ {
		at := len(text)
		text = AppendJSON(text, keys, k)
		entries = append(entries, entry{k, at, len(text)})
		object = object && !keys.IsNull(k)
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return compareUTF16(text[a.from:a.to], text[b.from:b.to])
	})
	open, end := byte('['), byte(']')
	if object {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	first := true
	for n, e := range entries {
		if object && n+1 < len(entries) && bytes.Equal(text[e.from:e.to], text[entries[n+1].from:entries[n+1].to]) {
			continue // of equal keys the last one counts
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if object {
			dst = append(append(dst, text[e.from:e.to]...), ':')
			dst = AppendJSON(dst, v.Children[1], e.row)
			continue
		}
		dst = append(append(append(dst, '['), text[e.from:e.to]...), ',')
		dst = append(AppendJSON(dst, v.Children[1], e.row), ']')
	}
	return append(dst, end)
}

// compareUTF16 orders UTF-8 texts by their UTF-16 units: characters above the
// basic plane, which are surrogate pairs, come before U+E000.
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
