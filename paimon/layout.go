package paimon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// depthMax bounds the nesting of JSON that is laid out anew.
const depthMax = 1000

// marshalCompact encodes v without the escapes that only HTML needs.
func marshalCompact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// marshalIndented encodes v in the layout of the original's metadata files: two
// spaces a level, " : " after keys, arrays on one line.
func marshalIndented(v any) ([]byte, error) {
	compact, err := marshalCompact(v)
	if err != nil {
		return nil, err
	}
	l := layouter{in: json.NewDecoder(bytes.NewReader(compact)), out: make([]byte, 0, 2*len(compact))}
	l.in.UseNumber()
	if err := l.value(0); err != nil {
		return nil, err
	}
	return l.out, nil
}

// unmarshalOne decodes one JSON value that is all of data. Keys match
// struct fields as encoding/json matches them.
func unmarshalOne(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more text after the JSON value")
	}
	return nil
}

// layouter copies JSON tokens and lays them out.
type layouter struct {
	in  *json.Decoder
	out []byte
}

func (l *layouter) value(depth int) error {
	t, err := l.in.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		if depth > depthMax {
			return fmt.Errorf("JSON nests deeper than %d", depthMax)
		}
		if t == '{' {
			return l.object(depth + 1)
		}
		return l.array(depth)
	case string:
		l.out = appendJSONString(l.out, t)
	case json.Number:
		l.out = append(l.out, t...)
	case bool:
		l.out = fmt.Appendf(l.out, "%t", t)
	case nil:
		l.out = append(l.out, "null"...)
	}
	return nil
}

func (l *layouter) object(depth int) error {
	l.out = append(l.out, '{')
	first := true
	for l.in.More() {
		if !first {
			l.out = append(l.out, ',')
		}
		first = false
		l.newLine(depth)
		key, err := l.in.Token()
		if err != nil {
			return err
		}
		l.out = appendJSONString(l.out, key.(string))
		l.out = append(l.out, " : "...)
		if err := l.value(depth); err != nil {
			return err
		}
	}
	if first {
		l.out = append(l.out, ' ')
	} else {
		l.newLine(depth - 1)
	}
	l.out = append(l.out, '}')
	_, err := l.in.Token()
	return err
}

func (l *layouter) array(depth int) error {
	l.out = append(l.out, '[')
	first := true
	for l.in.More() {
		if !first {
			l.out = append(l.out, ',')
		}
		first = false
		l.out = append(l.out, ' ')
		if err := l.value(depth); err != nil {
			return err
		}
	}
	l.out = append(l.out, " ]"...)
	_, err := l.in.Token()
	return err
}

func (l *layouter) newLine(depth int) {
	l.out = append(l.out, '\n')
	for range depth {
		l.out = append(l.out, "  "...)
	}
}

// appendJSONString quotes s and escapes only what JSON requires.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r < 0x20:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
