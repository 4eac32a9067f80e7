package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// changeLines writes changes as they come: a JSON line each, or a line for people
// that begins with the kind.
type changeLines struct {
	w     io.Writer
	json  bool
	color bool
	buf   []byte
	count int64
}

var kindColors = map[string]string{"+I": "\x1b[32m", "-U": "\x1b[2m", "+U": "\x1b[33m", "-D": "\x1b[31m"}

// write writes one change. Row is a JSON object, cursor the position after it.
func (l *changeLines) write(snapshot int64, kind string, row []byte, cursor string) error {
	l.count++
	b := l.buf[:0]
	if l.json {
		b = append(b, `{"snapshot":`...)
		b = strconv.AppendInt(b, snapshot, 10)
		b = append(append(append(b, `,"kind":"`...), kind...), `","row":`...)
		b = append(append(append(b, row...), `,"cursor":"`...), cursor...)
		b = append(b, "\"}\n"...)
	} else {
		if l.color {
			b = append(b, kindColors[kind]...)
		}
		b = append(b, kind...)
		b = appendMembers(b, row)
		if l.color {
			b = append(b, "\x1b[0m"...)
		}
		b = append(b, '\n')
	}
	l.buf = b
	_, err := l.w.Write(b)
	return err
}

// appendMembers renders a JSON object as "  name=value" for people. Nested values
// stay JSON.
func appendMembers(dst, row []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(row))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return append(append(dst, "  "...), row...)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			break
		}
		text := string(value)
		var s string
		switch {
		case text == "null":
			text = "NULL"
		case strings.HasPrefix(text, `"`) && json.Unmarshal(value, &s) == nil:
			text = clip(s)
		default:
			text = clip(text)
		}
		dst = fmt.Appendf(dst, "  %s=%s", name, text)
	}
	return dst
}
