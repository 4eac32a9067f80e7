package rowdata

import "unicode/utf8"

// appendSized appends text or bytes cut to the length of the type, in
// characters or bytes. CHAR is filled up with spaces, BINARY with zeros.
func appendSized(v *Vector, b []byte) {
	t := v.Type
	b = cutTo(t, b)
	v.Data = append(v.Data, b...)
	switch t.Root {
	case Char:
		for n := utf8.RuneCount(b); n < t.Length; n++ {
			v.Data = append(v.Data, ' ')
		}
	case Binary:
		for n := len(b); n < t.Length; n++ {
			v.Data = append(v.Data, 0)
		}
	}
	v.closeBytes()
	v.appended()
}

// cutTo returns the start of b that fits the length of the type.
func cutTo(t *Type, b []byte) []byte {
	if t.Root == Blob || len(b) <= t.Length {
		return b
	}
	if !t.IsString() {
		return b[:t.Length]
	}
	at := 0
	for range t.Length {
		if at == len(b) {
			break
		}
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return b[:at]
}
