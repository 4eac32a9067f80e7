package snapshotreader

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
)

// Phase is the part of a stream that a position lies in.
type Phase uint8

// The phases of a stream.
const (
	Image   Phase = iota // rows of a snapshot's state
	Changes              // changes that a snapshot made
)

// String returns image or changes.
func (p Phase) String() string {
	if p == Image {
		return "image"
	}
	return "changes"
}

// Cursor names the next unread row of a stream of one table and branch. It holds
// for ever: it does not depend on the process, host or transport that made it.
// Its text is opaque to clients; see [Cursor.String].
//
// Unit and Row are both 0 at a commit boundary: before the first row of a
// snapshot's delivery.
type Cursor struct {
	Table    uint64 // identity of the table: another one after DROP and CREATE
	Branch   uint32 // 0 for the main branch, else a hash of the name
	Snapshot int64  // snapshot whose image or changes come next, from 1
	Phase    Phase
	Unit     uint32 // ordinal of the unit in the delivery
	Row      uint64 // ordinal of the row in the unit
	Skip     uint32 // rows to pass over from there in stream order, at most MaxSkipRows

	// mark is a fingerprint of the snapshot named by markOf. It tells a reader
	// that the history it would go on with is not the one the cursor was made
	// in: the table was rolled back or restored, and written on.
	mark   uint32
	markOf markOf
}

// MaxSkipRows bounds the N of a cursor text TEXT+N.
const MaxSkipRows = 1 << 20

// markOf says which snapshot a cursor's mark was taken of.
type markOf uint8

const (
	markNone     markOf = iota // nothing known of the history
	markSelf                   // Cursor.Snapshot
	markPrevious               // the snapshot before it: Cursor.Snapshot may not exist yet
)

const (
	cursorVersion  = 1
	cursorBytesMax = 47 // 63 characters
)

// The bits of the second byte.
const (
	flagChanges  = 1 << 0
	flagMarkBit  = 1 // two bits: markOf
	flagMarkMask = 3 << flagMarkBit
)

// IsZero tells whether c names nothing.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// AtBoundary tells whether c stands before the first row of a delivery.
func (c Cursor) AtBoundary() bool { return c.Unit == 0 && c.Row == 0 && c.Skip == 0 }

// After returns the cursor n rows further in the same unit.
func (c Cursor) After(n int) Cursor {
	c.Row += uint64(n)
	return c
}

// Compare orders positions of one table and branch: -1, 0 or 1 as c comes before,
// at or after o. The image of a snapshot comes after its changes, since it
// contains them. A cursor with Skip counts as Row+Skip, which is exact within a
// unit. Cursors of different tables or branches have an order too, but it means
// nothing.
func (c Cursor) Compare(o Cursor) int {
	return cmp.Or(
		cmp.Compare(c.Table, o.Table),
		cmp.Compare(c.Branch, o.Branch),
		cmp.Compare(c.Snapshot, o.Snapshot),
		-cmp.Compare(c.Phase, o.Phase),
		cmp.Compare(c.Unit, o.Unit),
		cmp.Compare(c.Row+uint64(c.Skip), o.Row+uint64(o.Skip)),
	)
}

// append puts the binary form into dst, which is empty:
//
//	byte     version, 1
//	byte     bit 0: changes; bits 1, 2: what the mark was taken of
//	8 bytes  table, big endian
//	uvarint  branch, snapshot, unit, row
//	4 bytes  mark, big endian, if there is one
//	4 bytes  CRC-32 (IEEE) of all before, big endian
func (c Cursor) append(dst []byte) []byte {
	flags := byte(c.markOf) << flagMarkBit
	if c.Phase == Changes {
		flags |= flagChanges
	}
	dst = append(dst, cursorVersion, flags)
	dst = binary.BigEndian.AppendUint64(dst, c.Table)
	dst = binary.AppendUvarint(dst, uint64(c.Branch))
	dst = binary.AppendUvarint(dst, uint64(c.Snapshot))
	dst = binary.AppendUvarint(dst, uint64(c.Unit))
	dst = binary.AppendUvarint(dst, c.Row)
	if c.markOf != markNone {
		dst = binary.BigEndian.AppendUint32(dst, c.mark)
	}
	return sumCursor(dst)
}

// sumCursor adds the checksum to the rest of a binary form.
func sumCursor(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// AppendText appends the text of c to dst: at most 63 characters of the URL-safe
// base64 alphabet, then +N if c skips N rows. The zero cursor has no text. Equal
// texts name the same position, but one position may have several: the end of a
// commit and the beginning of the next, or a row and another one with +N.
func (c Cursor) AppendText(dst []byte) ([]byte, error) {
	if c.IsZero() {
		return dst, nil
	}
	var buf [cursorBytesMax]byte
	dst = base64.RawURLEncoding.AppendEncode(dst, c.append(buf[:0]))
	if c.Skip > 0 {
		dst = strconv.AppendUint(append(dst, '+'), uint64(c.Skip), 10)
	}
	return dst, nil
}

// String returns the text that [ParseCursor] reads, empty for the zero cursor.
func (c Cursor) String() string {
	text, _ := c.AppendText(make([]byte, 0, 72))
	return string(text)
}

// MarshalText returns [Cursor.String] as bytes.
func (c Cursor) MarshalText() ([]byte, error) { return c.AppendText(nil) }

// UnmarshalText reads what MarshalText wrote; empty text is the zero cursor.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*c = Cursor{}
		return nil
	}
	*c, err = ParseCursor(string(text))
	return err
}

// ParseCursor reads the text of a cursor, or TEXT+N, which names the row that
// comes N rows after TEXT in the order of the stream. Errors are
// *CursorInvalidError.
func ParseCursor(text string) (Cursor, error) {
	invalid := func(reason string) (Cursor, error) {
		return Cursor{}, &CursorInvalidError{Text: text, Reason: reason}
	}
	base, skip, plus := strings.Cut(text, "+")
	if len(base) == 0 {
		return invalid("it is empty")
	}
	if len(base) > base64.RawURLEncoding.EncodedLen(cursorBytesMax) {
		return invalid("it is too long")
	}
	raw, err := base64.RawURLEncoding.DecodeString(base)
	if err != nil {
		return invalid("it is not URL-safe base64")
	}
	c, reason := decodeCursor(raw)
	if reason != "" {
		return invalid(reason)
	}
	if c.String() != base {
		return invalid("it is not in canonical form")
	}
	if plus {
		n, err := strconv.ParseUint(skip, 10, 32)
		if err != nil || n > MaxSkipRows || len(skip) > 1 && skip[0] == '0' {
			return invalid("after + there must be a number of rows from 0 to " + strconv.Itoa(MaxSkipRows))
		}
		c.Skip = uint32(n)
	}
	return c, nil
}

// decodeCursor reads the binary form; reason is empty if it is right.
func decodeCursor(b []byte) (c Cursor, reason string) {
	switch {
	case len(b) == 0 || b[0] != cursorVersion:
		return c, "its version is not known here"
	case len(b) < 2+8+4+4:
		return c, "it is cut off"
	case crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]):
		return c, "its checksum does not match"
	case b[1]&^(flagChanges|flagMarkMask) != 0:
		return c, "it has flags that are not known here"
	}
	flags := b[1]
	c.Phase = Phase(flags & flagChanges)
	c.markOf = markOf(flags >> flagMarkBit & 3)
	c.Table = binary.BigEndian.Uint64(b[2:])
	b = b[10 : len(b)-4]
	ok := true
	number := func(limit uint64) uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 || x > limit {
			ok = false
			return 0
		}
		b = b[n:]
		return x
	}
	c.Branch = uint32(number(1<<32 - 1))
	c.Snapshot = int64(number(1<<63 - 1))
	c.Unit = uint32(number(1<<32 - 1))
	c.Row = number(1<<63 - 1)
	if c.markOf != markNone && len(b) == 4 {
		c.mark = binary.BigEndian.Uint32(b)
		b = nil
	}
	if !ok || len(b) != 0 || c.markOf > markPrevious || c.Snapshot == 0 {
		return Cursor{}, "its numbers are out of range"
	}
	return c, ""
}

// branchID returns the number that stands for a branch in cursors.
func branchID(name string) uint32 {
	if name == "" || name == "main" {
		return 0
	}
	return max(1, crc32.ChecksumIEEE([]byte(name)))
}
