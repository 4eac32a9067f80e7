package pqt

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

func (v *valueReader) initLengths(n int) error {
	var rest []byte
	var err error
	if v.lengths, rest, err = v.readLengths(v.lengths, v.buf, n); err != nil {
		return err
	}
	total := 0
	for _, l := range v.lengths {
		total += int(l)
	}
	if total > len(rest) {
		return errLengths
	}
	v.buf, v.at = rest, 0
	return nil
}

func (v *valueReader) initPrefixes(n int) error {
	var rest []byte
	var err error
	if v.prefixes, rest, err = v.readLengths(v.prefixes, v.buf, n); err != nil {
		return err
	}
	v.buf = rest
	if err := v.initLengths(n); err != nil {
		return err
	}
	if len(v.prefixes) != len(v.lengths) {
		return errLengths
	}
	last := int32(0)
	for i, p := range v.prefixes {
		if p > last || int64(p)+int64(v.lengths[i]) > pageBytesMax {
			return errLengths
		}
		last = p + v.lengths[i]
	}
	v.last = v.last[:0]
	return nil
}

// readLengths decodes the lengths at the front of a page and returns what is
// behind them.
func (v *valueReader) readLengths(dst []int32, b []byte, n int) (lengths []int32, rest []byte, err error) {
	if n > deltaStringsMax {
		return nil, nil, fmt.Errorf("%d strings in a page: %w", n, errTooMany)
	}
	if err := v.d32.init(b, n); err != nil {
		return nil, nil, err
	}
	if n := v.d32.left; cap(dst) < n {
		dst = make([]int32, n)
	} else {
		dst = dst[:n]
	}
	if err := v.d32.read(dst); err != nil {
		return nil, nil, err
	}
	for _, l := range dst {
		if l < 0 {
			return nil, nil, errLengths
		}
	}
	return dst, b[v.d32.pos:], nil
}

// plainStrings measures the next n strings in PLAIN encoding: the bytes of all,
// and where the one after them begins.
func (v *valueReader) plainStrings(n int) (total, end int, err error) {
	pos := v.pos
	for range n {
		if len(v.buf)-pos < 4 {
			return 0, pos, io.ErrUnexpectedEOF
		}
		l := int(binary.LittleEndian.Uint32(v.buf[pos:]))
		pos += 4
		if l > len(v.buf)-pos {
			return 0, pos, io.ErrUnexpectedEOF
		}
		pos += l
		total += l
	}
	return total, pos, nil
}

// appendStrings appends the next n values of a BYTE_ARRAY column to data, and
// where each ends to offs, which begins as a vector's does.
func (v *valueReader) appendStrings(data *[]byte, offs *[]uint32, n int) error {
	switch v.enc {
	case encPlain:
		total, end, err := v.plainStrings(n)
		if err != nil {
			return err
		}
		return v.appendPlainStrings(data, offs, n, total, end)
	case encRLEDictionary:
		return v.appendDictStrings(data, offs, n)
	}
	if n > len(v.lengths)-v.at {
		return io.ErrUnexpectedEOF
	}
	lengths := v.lengths[v.at : v.at+n]
	total := 0
	for i, l := range lengths {
		total += int(l)
		if v.enc == encDeltaBytes {
			total += int(v.prefixes[v.at+i])
		}
	}
	d, err := room(*data, total)
	if err != nil {
		return err
	}
	o := *offs
	for i, l := range lengths {
		start := len(d)
		if v.enc == encDeltaBytes {
			d = append(d, v.last[:v.prefixes[v.at+i]]...)
		}
		d = append(d, v.buf[v.pos:v.pos+int(l)]...)
		v.pos += int(l)
		if v.enc == encDeltaBytes {
			v.last = append(v.last[:0], d[start:]...)
		}
		o = append(o, uint32(len(d)))
	}
	v.at += n
	*data, *offs = d, o
	return nil
}

// room grows data by n bytes, if a batch may have as many.
func room(data []byte, n int) ([]byte, error) {
	if len(data)+n > batchBytesMax {
		return nil, errBatchBytes
	}
	return grow(data, n), nil
}

func (v *valueReader) appendPlainStrings(data *[]byte, offs *[]uint32, n, total, end int) error {
	d, err := room(*data, total+longCopy)
	if err != nil {
		return err
	}
	at, o := len(d), slices.Grow(*offs, n)
	out, page := d[:cap(d)], v.buf[:len(v.buf):cap(v.buf)]
	pos := v.pos
	for range n {
		l := int(binary.LittleEndian.Uint32(page[pos:]))
		pos += 4
		if l <= longCopy && pos+longCopy <= cap(page) {
			copyLong((*[longCopy]byte)(out[at:]), (*[longCopy]byte)(page[pos:pos+longCopy]))
		} else {
			copy(out[at:], page[pos:pos+l])
		}
		pos, at = pos+l, at+l
		o = append(o, uint32(at))
	}
	v.pos = end
	*data, *offs = d[:at], o
	return nil
}

// appendDictStrings copies strings out of the dictionary. Short ones are copied
// as 16 bytes, whatever they have: that takes no loop and no branch.
func (v *valueReader) appendDictStrings(data *[]byte, offs *[]uint32, n int) error {
	d, o := *data, *offs
	dict, ends := v.dict.data[:len(v.dict.data):cap(v.dict.data)], v.dict.offs
	if v.index == nil {
		v.index = make([]int32, 1024)
	}
	for n > 0 {
		k := min(n, len(v.index))
		index := v.index[:k]
		if err := v.rle.read(index); err != nil {
			return err
		}
		total := 0
		for _, x := range index {
			if uint(x) >= uint(v.dict.n) {
				return errDictIndex
			}
			total += int(ends[x+1] - ends[x])
		}
		var err error
		if d, err = room(d, total+16); err != nil {
			return err
		}
		at := len(d)
		out := d[:cap(d)]
		for _, x := range index {
			from, l := int(ends[x]), int(ends[x+1]-ends[x])
			if l <= 16 {
				*(*[16]byte)(out[at:]) = *(*[16]byte)(dict[from : from+16])
			} else {
				copy(out[at:at+l], dict[from:])
			}
			at += l
			o = append(o, uint32(at))
		}
		d = d[:at]
		n -= k
	}
	*data, *offs = d, o
	return nil
}
