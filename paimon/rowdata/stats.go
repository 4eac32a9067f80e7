package rowdata

import "unicode/utf8"

// ColumnStats is what is known about the values of a column of a file (format
// section 5.5). Min and Max have one row and are bounds: values are between them,
// but need not include them. nil: not known.
type ColumnStats struct {
	Min, Max *Vector
	Nulls    int64 // -1: not known
}

// TruncateStats cuts the bounds of text and binary columns to n characters or
// bytes (statistics mode truncate(n)). If there is no greater value of that
// length to take for Max, both bounds are given up.
func TruncateStats(s ColumnStats, n int) ColumnStats {
	if s.Min == nil || s.Max == nil || s.Min.store != StoreBytes {
		return s
	}
	text := s.Min.Type.IsString()
	if !s.Max.IsNull(0) {
		b, ok := TruncateMax(s.Max.Bytes(0), n, text)
		if !ok {
			return ColumnStats{Nulls: s.Nulls}
		}
		s.Max = bytesScalar(s.Max.Type, b)
	}
	if !s.Min.IsNull(0) {
		s.Min = bytesScalar(s.Min.Type, TruncateMin(s.Min.Bytes(0), n, text))
	}
	return s
}

func bytesScalar(t *Type, b []byte) *Vector {
	v := NewVector(t, 1)
	v.AppendBytes(b)
	return v
}

// TruncateMin returns the first n characters of text, or the first n bytes of
// binaries: a value that is not greater. It shares memory with b.
func TruncateMin(b []byte, n int, text bool) []byte {
	if !text {
		return b[:min(n, len(b))]
	}
	at := 0
	for range n {
		if at == len(b) {
			break
		}
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return b[:at]
}

// TruncateMax returns a value of at most n characters or bytes that is not less
// than b: b itself if it is short, else its start with the last character or
// byte that can be increased increased, and nothing behind it. ok is false if
// there is none.
func TruncateMax(b []byte, n int, text bool) (out []byte, ok bool) {
	head := TruncateMin(b, n, text)
	if len(head) == len(b) {
		return b, true
	}
	out = append([]byte(nil), head...)
	for len(out) > 0 {
		if !text {
			last := len(out) - 1
			if out[last] != 0xff {
				out[last]++
				return out, true
			}
			out = out[:last]
			continue
		}
		r, size := utf8.DecodeLastRune(out)
		out = out[:len(out)-size]
		if next, ok := nextRune(r, size); ok {
			return utf8.AppendRune(out, next), true
		}
	}
	return nil, false
}

// nextRune returns the character behind r in UTF-8 order. The surrogates are no
// characters, and bytes that are no UTF-8 have no next one.
func nextRune(r rune, size int) (rune, bool) {
	switch {
	case r == utf8.MaxRune, r == utf8.RuneError && size <= 1:
		return 0, false
	case r == 0xd7ff:
		return 0xe000, true
	}
	return r + 1, true
}
