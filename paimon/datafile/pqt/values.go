package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Limits on what a batch and a page may become in memory.
const (
	batchBytesMax = 1 << 30 // of the strings of a column
	// Batches are made smaller where they would have more than this.
	batchBytesComfort = 256 << 20
	deltaStringsMax   = 1 << 24 // values of a page in an encoding that keeps all lengths
)

var (
	errDictIndex  = errors.New("index beyond the dictionary")
	errNoDict     = errors.New("dictionary encoding without a dictionary page")
	errBatchBytes = fmt.Errorf("strings of more than %d bytes in a batch: read fewer rows at a time", batchBytesMax)
	errLengths    = errors.New("lengths of strings beyond the page")
)

// dictValues is the dictionary of a column chunk, by physical type.
type dictValues struct {
	n     int // -1: none
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	fixed []byte   // INT96, FIXED_LEN_BYTE_ARRAY
	data  []byte   // BYTE_ARRAY, with slack
	offs  []uint32 // one more than values
	most  int      // bytes of the longest
}

// valueReader decodes the values of a page, without NULLs, a piece at a time.
type valueReader struct {
	phys  physicalType
	width int // of a value of fixed length
	enc   encoding
	buf   []byte
	pos   int // PLAIN: in buf; BOOLEAN: in bits; BYTE_STREAM_SPLIT: in values
	rle   rleReader
	d32   deltaReader[int32]
	d64   deltaReader[int64]
	dict  dictValues
	index []int32
	level levelReader // BOOLEAN in RLE

	prefixes, lengths []int32 // DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY: of the whole page
	at                int     // in lengths
	last              []byte  // DELTA_BYTE_ARRAY: the value before
	strings           []byte  // scratch
	offs              []uint32
}

// init readies v for the values of a page, which has at most n.
func (v *valueReader) init(enc encoding, buf []byte, n int) error {
	v.enc, v.buf, v.pos = enc, buf, 0
	switch enc {
	case encPlain:
		return nil
	case encPlainDictionary, encRLEDictionary:
		v.enc = encRLEDictionary
		if v.dict.n < 0 {
			return errNoDict
		}
		if len(buf) == 0 {
			v.rle.init(buf, 0)
			return nil
		}
		if buf[0] > 32 {
			return fmt.Errorf("dictionary indexes of %d bits", buf[0])
		}
		v.rle.init(buf[1:], int(buf[0]))
		return nil
	case encRLE:
		if v.phys == physBoolean {
			if len(buf) < 4 || uint64(binary.LittleEndian.Uint32(buf)) > uint64(len(buf)-4) {
				return io.ErrUnexpectedEOF
			}
			v.level.init(buf[4:4+binary.LittleEndian.Uint32(buf)], 1)
			return nil
		}
	case encDeltaBinary:
		switch v.phys {
		case physInt32:
			return v.d32.init(buf, n)
		case physInt64:
			return v.d64.init(buf, n)
		}
	case encDeltaLength:
		if v.phys == physByteArray {
			return v.initLengths(n)
		}
	case encDeltaBytes:
		if v.phys == physByteArray || v.phys == physFixed {
			return v.initPrefixes(n)
		}
	case encByteStreamSplit:
		if v.width > 0 {
			return nil
		}
	}
	return &UnsupportedError{What: fmt.Sprintf("encoding %d of %s values", enc, v.phys)}
}

// plain returns the bytes of the next n values of fixed width.
func (v *valueReader) plain(n int) ([]byte, error) {
	size := n * v.width
	if size > len(v.buf)-v.pos {
		return nil, io.ErrUnexpectedEOF
	}
	b := v.buf[v.pos : v.pos+size]
	v.pos += size
	return b, nil
}

// split gathers the bytes of the next n values of BYTE_STREAM_SPLIT.
func (v *valueReader) split(n int) ([]byte, error) {
	total := len(v.buf) / v.width
	if n > total-v.pos {
		return nil, io.ErrUnexpectedEOF
	}
	size := n * v.width
	if cap(v.strings) < size {
		v.strings = newBuffer(size)
	}
	out := v.strings[:size]
	for k := range v.width {
		stream := v.buf[k*total+v.pos:]
		for i, at := 0, k; i < n; i, at = i+1, at+v.width {
			out[at] = stream[i]
		}
	}
	v.pos += n
	return out, nil
}

// fixed returns the bytes of the next n values in PLAIN form, however they are
// encoded. They are valid until the next call.
func (v *valueReader) fixed(n int) ([]byte, error) {
	switch v.enc {
	case encPlain:
		return v.plain(n)
	case encByteStreamSplit:
		return v.split(n)
	case encRLEDictionary:
		out := v.strings[:0]
		err := v.eachIndex(n, func(index []int32) error {
			for _, x := range index {
				if uint(x) >= uint(v.dict.n) {
					return errDictIndex
				}
				out = append(out, v.dict.fixed[int(x)*v.width:int(x+1)*v.width]...)
			}
			return nil
		})
		v.strings = out
		return out, err
	}
	// DELTA_BYTE_ARRAY of values that all have the same length.
	v.strings, v.offs = v.strings[:0], append(v.offs[:0], 0)
	if err := v.appendStrings(&v.strings, &v.offs, n); err != nil {
		return nil, err
	}
	if len(v.strings) != n*v.width {
		return nil, errLengths
	}
	for i := range n {
		if int(v.offs[i+1]) != (i+1)*v.width {
			return nil, errLengths
		}
	}
	return v.strings, nil
}

// eachIndex decodes the next n dictionary indexes and hands them on in pieces.
func (v *valueReader) eachIndex(n int, use func([]int32) error) error {
	if v.index == nil {
		v.index = make([]int32, 1024)
	}
	for n > 0 {
		k := min(n, len(v.index))
		if err := v.rle.read(v.index[:k]); err != nil {
			return err
		}
		if err := use(v.index[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// lookUp decodes dictionary indexes into values.
func lookUp[T any](v *valueReader, dst, dict []T) error {
	for len(dst) > 0 {
		x, n, err := v.rle.repeats(len(dst))
		if err != nil {
			return err
		}
		if n > 0 {
			if x >= uint32(len(dict)) {
				return errDictIndex
			}
			fill(dst[:n], dict[x])
			v.rle.take(n)
			dst = dst[n:]
			continue
		}
		if v.index == nil {
			v.index = make([]int32, 1024)
		}
		n = v.rle.literals(v.index[:min(len(dst), len(v.index))])
		for i, x := range v.index[:n] {
			if uint(x) >= uint(len(dict)) {
				return errDictIndex
			}
			dst[i] = dict[x]
		}
		dst = dst[n:]
	}
	return nil
}

func (v *valueReader) int32s(dst []int32) error {
	switch v.enc {
	case encDeltaBinary:
		return v.d32.read(dst)
	case encRLEDictionary:
		return lookUp(v, dst, v.dict.i32)
	}
	b, err := v.fixed(len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

func (v *valueReader) int64s(dst []int64) error {
	switch v.enc {
	case encDeltaBinary:
		return v.d64.read(dst)
	case encRLEDictionary:
		return lookUp(v, dst, v.dict.i64)
	}
	b, err := v.fixed(len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}

func (v *valueReader) float32s(dst []float32) error {
	if v.enc == encRLEDictionary {
		return lookUp(v, dst, v.dict.f32)
	}
	b, err := v.fixed(len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

func (v *valueReader) float64s(dst []float64) error {
	if v.enc == encRLEDictionary {
		return lookUp(v, dst, v.dict.f64)
	}
	b, err := v.fixed(len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}

// bools decodes BOOLEANs as 0 and 1.
func (v *valueReader) bools(dst []int32) error {
	switch v.enc {
	case encRLE:
		err := v.level.rle.read(dst)
		for i := range dst {
			dst[i] &= 1
		}
		return err
	case encRLEDictionary:
		return lookUp(v, dst, v.dict.i32)
	}
	if len(dst) > len(v.buf)*8-v.pos {
		return io.ErrUnexpectedEOF
	}
	for i := range dst {
		dst[i] = int32(v.buf[v.pos>>3] >> (v.pos & 7) & 1)
		v.pos++
	}
	return nil
}

// skip passes over n values.
func (v *valueReader) skip(n int) error {
	switch v.enc {
	case encPlain:
		switch {
		case v.phys == physBoolean:
			v.pos += n
		case v.phys == physByteArray:
			_, end, err := v.plainStrings(n)
			v.pos = end
			return err
		default:
			_, err := v.plain(n)
			return err
		}
	case encRLEDictionary:
		return v.rle.skip(n)
	case encRLE:
		return v.level.rle.skip(n)
	case encDeltaBinary:
		if v.phys == physInt32 {
			return v.d32.skip(n)
		}
		return v.d64.skip(n)
	case encByteStreamSplit:
		v.pos += n
	default: // strings that depend on the ones before
		for n > 0 {
			k := min(n, 1024)
			v.strings, v.offs = v.strings[:0], append(v.offs[:0], 0)
			if err := v.appendStrings(&v.strings, &v.offs, k); err != nil {
				return err
			}
			n -= k
		}
	}
	return nil
}
