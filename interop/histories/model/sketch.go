package model

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// sketch is what a bitmap or a sketch of few entries is: a set. The forms are those
// of the libraries that Java uses: a roaring bitmap of 32 bits in the portable form,
// a compact theta sketch that has not begun to sample, and a HyperLogLog sketch that
// is still a list.
type sketch struct {
	form    string
	entries []uint64 // ascending
}

// Sketch returns the text of a sketch with some entries, for rows that have one:
// form is rbm32, theta_sketch or hll_sketch.
func Sketch(form string, entries ...uint64) string {
	slices.Sort(entries)
	return sketch{form, slices.Compact(entries)}.text()
}

func (s sketch) union(t sketch) sketch {
	all := slices.Concat(s.entries, t.entries)
	slices.Sort(all)
	return sketch{s.form, slices.Compact(all)}
}

// The first bytes of each form.
var (
	thetaHead  = []byte{2, 3, 3, 0, 0, 0x1a, 0xcc, 0x93}
	thetaAlone = []byte{1, 3, 3, 0, 0, 0x3a, 0xcc, 0x93}
	hllHead    = []byte{2, 1, 7, 12, 3, 8}
	bitmapHead = []byte{0x3a, 0x30, 0, 0} // containers are arrays
	bitmapRuns = []byte{0x3b, 0x30}       // some are runs
)

// hllListMax is the number of entries that a HyperLogLog sketch holds as a list.
const hllListMax = 7

func (s sketch) text() string {
	var b []byte
	switch le := binary.LittleEndian; s.form {
	case "theta_sketch":
		b = append(b, thetaAlone...)
		if len(s.entries) != 1 {
			b = append(b[:0], thetaHead...)
			b = le.AppendUint32(le.AppendUint32(b, uint32(len(s.entries))), 0x3f800000)
		}
		for _, e := range s.entries {
			b = le.AppendUint64(b, e)
		}
	case "hll_sketch":
		b = append(append(b, hllHead...), byte(len(s.entries)), 0)
		for _, e := range s.entries {
			b = le.AppendUint32(b, uint32(e))
		}
	case "rbm32": // of one container
		b = le.AppendUint32(append(b, bitmapHead...), 1)
		b = le.AppendUint16(le.AppendUint16(b, uint16(s.entries[0]>>16)), uint16(len(s.entries)-1))
		b = le.AppendUint32(b, 16)
		for _, e := range s.entries {
			b = le.AppendUint16(b, uint16(e))
		}
	}
	return base64.StdEncoding.EncodeToString(b)
}

// parseSketch reads the bytes of any form.
func parseSketch(text string) (_ sketch, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return sketch{}, err
	}
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("sketch %q ends early", text)
		}
	}()
	s, le := sketch{}, binary.LittleEndian
	switch {
	case slices.Equal(b[:8], thetaAlone):
		s = sketch{"theta_sketch", []uint64{le.Uint64(b[8:])}}
	case slices.Equal(b[:8], thetaHead):
		s.form = "theta_sketch"
		for i := range int(le.Uint32(b[8:])) {
			s.entries = append(s.entries, le.Uint64(b[16+8*i:]))
		}
	case slices.Equal(b[:6], hllHead) && b[6] <= hllListMax && b[7] == 0:
		s.form = "hll_sketch"
		for i := range int(b[6]) {
			s.entries = append(s.entries, uint64(le.Uint32(b[8+4*i:])))
		}
	case slices.Equal(b[:4], bitmapHead) && le.Uint32(b[4:]) == 1:
		s.form = "rbm32"
		for i := range int(le.Uint16(b[10:])) + 1 {
			s.entries = append(s.entries, uint64(le.Uint16(b[8:]))<<16|uint64(le.Uint16(b[16+2*i:])))
		}
	case slices.Equal(b[:2], bitmapRuns) && le.Uint16(b[2:]) == 0 && b[4] == 1: // one container, of runs
		s.form = "rbm32"
		at := 11
		for r := range int(le.Uint16(b[9:])) {
			first, more := le.Uint16(b[at+4*r:]), le.Uint16(b[at+4*r+2:])
			for i := range uint64(more) + 1 {
				s.entries = append(s.entries, uint64(le.Uint16(b[5:]))<<16|uint64(first)+i)
			}
		}
	default:
		return s, &UnknownError{"the form of sketch " + text}
	}
	if slices.Sort(s.entries); len(slices.Compact(slices.Clone(s.entries))) != len(s.entries) {
		return s, fmt.Errorf("sketch %q has an entry twice", text)
	}
	return s, nil
}
