package lookup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The log is a sequence of frames, each of a header and a payload:
//
//	kind      1 byte: records or a commit
//	          3 bytes, zero
//	size      4 bytes, of the payload
//	stage     8 bytes: whose records these are
//	checksum  4 bytes, CRC-32C of the generation and the header
//
// A frame of records holds changes, one behind the other: the length of the key
// and the key; 0 for a deletion, or the length of the value plus one and the
// value; and the CRC-32C of key and value. Lengths are uvarints, all else is
// little-endian. A frame of a commit says that the records of a stage count:
// its ordinal, the number of frames of records that the stage has, the state, and a
// CRC-32C of these.
const (
	frameRecords = 1
	frameCommit  = 2

	frameHeader = 20
	// frameBytes is how much of a stage is collected before it is written.
	frameBytes = 64 << 10
	// framePayloadMax bounds a payload: one record goes beyond frameBytes. That of a
	// page has a key twice, besides others.
	framePayloadMax = 2 * (frameBytes + changeBytesMax)

	sumBytes    = 4
	commitBytes = 8 + 8 + stateSize + sumBytes
)

// noStage marks records that are not part of a stage: pages, with their fences as
// keys, and values of a rebuild or that were moved within the log.
const noStage = 0

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum returns the checksum of a record. For pages it begins with a seed, see
// pageSeed.
func recordSum(seed uint32, key, value []byte) uint32 {
	return crc32.Update(crc32.Update(seed, castagnoli, key), castagnoli, value)
}

// pageSeed makes the pages of one generation of an index wrong in any other: the
// last page, for one, has the same fence in all of them, and what a page does not
// have is not there.
func pageSeed(generation uint64) uint32 {
	var g [8]byte
	binary.LittleEndian.PutUint64(g[:], generation)
	return crc32.Update(0, castagnoli, g[:])
}

// recordBytes returns what a record takes in the log.
func recordBytes(key, value int) int64 {
	return int64(key+value+sumBytes) + int64(uvarintLen(uint64(key))+uvarintLen(uint64(value)+1))
}

func uvarintLen(x uint64) int {
	n := 1
	for ; x >= 0x80; x >>= 7 {
		n++
	}
	return n
}

// appendRecord appends a change; the value begins at the returned position.
func appendRecord(dst []byte, seed uint32, key, value []byte, del bool) (_ []byte, at int) {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = append(dst, key...)
	if del {
		dst, at = append(dst, 0), len(dst)+1
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(value))+1)
		at = len(dst)
		dst = append(dst, value...)
	}
	return binary.LittleEndian.AppendUint32(dst, recordSum(seed, key, value)), at
}

// record is a change as it stands in a frame.
type record struct {
	key, value []byte
	at         int // where the value begins
	del        bool
}

// nextRecord reads the record that begins at from and returns where the next one does.
func nextRecord(payload []byte, from int) (r record, next int, ok bool) {
	n, w := binary.Uvarint(payload[from:])
	if w <= 0 || n > uint64(len(payload)-from-w) {
		return r, 0, false
	}
	at := from + w
	r.key = payload[at : at+int(n)]
	at += int(n)
	n, w = binary.Uvarint(payload[at:])
	if w <= 0 || len(r.key) == 0 || r.key[0] != dataPrefix {
		return r, 0, false
	}
	at += w
	r.at, r.del = at, n == 0
	if n > 0 {
		if n--; n > uint64(len(payload)-at) {
			return r, 0, false
		}
		r.value = payload[at : at+int(n)]
		at += int(n)
	}
	if len(payload)-at < sumBytes || binary.LittleEndian.Uint32(payload[at:]) != recordSum(0, r.key, r.value) {
		return r, 0, false
	}
	return r, at + sumBytes, true
}

// header is the decoded header of a frame.
type header struct {
	kind  byte
	size  uint32
	stage uint64
}

// put writes the header to the first bytes of a frame.
func (h header) put(frame []byte, generation uint64) {
	frame[0], frame[1], frame[2], frame[3] = h.kind, 0, 0, 0
	binary.LittleEndian.PutUint32(frame[4:], h.size)
	binary.LittleEndian.PutUint64(frame[8:], h.stage)
	binary.LittleEndian.PutUint32(frame[16:], headerSum(frame, generation))
}

func headerSum(frame []byte, generation uint64) uint32 {
	var g [8]byte
	binary.LittleEndian.PutUint64(g[:], generation)
	return crc32.Update(crc32.Update(0, castagnoli, g[:]), castagnoli, frame[:16])
}

func decodeHeader(b []byte, generation uint64) (h header, ok bool) {
	if len(b) < frameHeader || binary.LittleEndian.Uint32(b[16:]) != headerSum(b, generation) {
		return h, false
	}
	h = header{b[0], binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])}
	switch {
	case h.kind == frameRecords && h.size <= framePayloadMax:
	case h.kind == frameCommit && h.size == commitBytes:
	default:
		return h, false
	}
	return h, true
}

// commit is the payload of a frame that makes the records of a stage count.
type commit struct {
	ordinal uint64 // grows by one with each commit of a generation
	frames  uint64 // of records that the stage has
	state   State
}

func (c commit) append(dst []byte, generation uint64) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, c.ordinal)
	dst = binary.LittleEndian.AppendUint64(dst, c.frames)
	dst = c.state.append(dst, generation)
	return binary.LittleEndian.AppendUint32(dst, crcOf(dst[at:]))
}

func decodeCommit(b []byte, generation uint64) (c commit, ok bool) {
	if len(b) != commitBytes || binary.LittleEndian.Uint32(b[commitBytes-sumBytes:]) != crcOf(b[:commitBytes-sumBytes]) {
		return c, false
	}
	b = b[:commitBytes-sumBytes]
	c.ordinal, c.frames = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	c.state, ok = decodeState(b[16:], generation)
	return c, ok
}

// errRecord says that a value in the log is not what was written there.
var errRecord = errors.New("a record of the log has a wrong checksum")

// checkRecord compares the sum that stands behind a value in the log.
func checkRecord(seed uint32, key, value, sum []byte) error {
	var want [sumBytes]byte
	binary.LittleEndian.PutUint32(want[:], recordSum(seed, key, value))
	if !bytes.Equal(want[:], sum) {
		return errRecord
	}
	return nil
}

// frameWriter collects records and writes them to the log as frames. Until flush
// their places are counted from the begin of the payload.
type frameWriter struct {
	log   *valueLog
	stage uint64
	seed  uint32 // of the records' sums
	buf   []byte // the header's room, then the payload
	count uint64 // frames written
}

// put adds a change and returns where its value will be, relative to the address
// that flush returns.
func (w *frameWriter) put(key, value []byte, del bool) loc {
	if len(w.buf) == 0 {
		w.buf = append(w.buf, make([]byte, frameHeader)...)
	}
	var at int
	w.buf, at = appendRecord(w.buf, w.seed, key, value, del)
	if del || len(value) == 0 {
		return loc{}
	}
	return loc{uint64(at - frameHeader), uint32(len(value))}
}

func (w *frameWriter) full() bool { return len(w.buf) >= frameBytes }

func (w *frameWriter) isEmpty() bool { return len(w.buf) <= frameHeader }

// flush writes what was collected and returns the address of the payload.
func (w *frameWriter) flush() (base uint64, err error) {
	if w.isEmpty() {
		return 0, nil
	}
	header{frameRecords, uint32(len(w.buf) - frameHeader), w.stage}.put(w.buf, w.log.generation)
	base, err = w.log.append(w.stage, w.buf)
	w.count++
	if cap(w.buf) > 4*frameBytes {
		w.buf = nil
	}
	w.buf = w.buf[:0]
	return base, err
}
