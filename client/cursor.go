package client

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
)

// Advance returns the text of the position that is n rows after a cursor.
//
// The protocol has a form for that, TEXT+N. For cursors of the layout that is
// known here, Advance makes the text that the gateway itself would give the row,
// so that equal positions have equal texts.
func Advance(cursor string, n uint64) string {
	if n == 0 {
		return cursor
	}
	text, more, plus := strings.Cut(cursor, "+")
	if plus {
		have, err := strconv.ParseUint(more, 10, 32)
		if err != nil {
			return cursor + "+" + strconv.FormatUint(n, 10) // the gateway will say what is wrong
		}
		return text + "+" + strconv.FormatUint(have+n, 10)
	}
	if out, ok := advance(text, n); ok {
		return out
	}
	return text + "+" + strconv.FormatUint(n, 10)
}

// advance adds to the row number of a cursor of version 1: version, flags, 8 bytes
// of table, uvarints of branch, snapshot, unit and row, more, and 4 bytes CRC-32.
func advance(text string, n uint64) (string, bool) {
	var room [96]byte
	b, err := base64.RawURLEncoding.AppendDecode(room[:0], []byte(text))
	if err != nil || len(b) < 14 || b[0] != 1 {
		return "", false
	}
	body := b[:len(b)-4]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return "", false
	}
	at := 10
	var row uint64
	var start int
	for range 4 {
		x, size := binary.Uvarint(body[at:])
		if size <= 0 {
			return "", false
		}
		row, start = x, at
		at += size
	}
	var made [112]byte
	out := append(made[:0], body[:start]...)
	out = binary.AppendUvarint(out, row+n)
	out = append(out, body[at:]...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	return base64.RawURLEncoding.EncodeToString(out), true
}
