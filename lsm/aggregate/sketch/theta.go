package sketch

import (
	"encoding/binary"
	"math"

	"github.com/apache/datasketches-go/theta"
)

// thetaUnion joins theta sketches of at most 4096 entries.
type thetaUnion struct{}

func (thetaUnion) Union(dst, a, b []byte) (out []byte, err error) {
	defer guard("theta_sketch", &err)
	u, err := theta.NewUnion()
	if err != nil {
		return nil, err
	}
	for _, in := range [][]byte{a, b} {
		if err := checkTheta(in); err != nil {
			return nil, err
		}
		s, err := theta.Decode(in, theta.DefaultSeed)
		if err != nil {
			return nil, corrupt("theta_sketch", err)
		}
		if err := u.Update(s); err != nil {
			return nil, corrupt("theta_sketch", err)
		}
	}
	result, err := u.OrderedResult()
	if err != nil {
		return nil, corrupt("theta_sketch", err)
	}
	text, err := result.MarshalBinary()
	if err != nil {
		return nil, corrupt("theta_sketch", err)
	}
	at := len(dst)
	dst = append(dst, text...)
	asJava(dst[at:])
	return dst, nil
}

// checkTheta looks at the number of entries, for which the library allocates without
// asking. The forms before and after version 3 pack it otherwise, and Java writes
// neither.
func checkTheta(b []byte) error {
	const version = 3
	switch {
	case len(b) < 8 || b[1] != version || b[0]&0x3f > 3 || b[0]&0x3f == 0:
		return corrupt("theta_sketch", errSize)
	case b[0]&0x3f > 1 && (len(b) < 16 || uint64(binary.LittleEndian.Uint32(b[8:])) > uint64(len(b))/8):
		return corrupt("theta_sketch", errSize)
	}
	return nil
}

// Bits of the flags in byte 5 of a theta sketch.
const (
	flagEmpty  = 1 << 2
	flagSingle = 1 << 5
)

// asJava makes of a sketch what the Java library writes: it marks a single entry,
// gives an empty sketch no hash of a seed, and writes the sampling probability of 1
// where there is room for it.
func asJava(b []byte) {
	switch {
	case len(b) < 8:
	case b[0]&0x3f > 1:
		if len(b) >= 16 {
			binary.LittleEndian.PutUint32(b[12:], math.Float32bits(1))
		}
	case b[5]&flagEmpty != 0:
		b[6], b[7] = 0, 0
	default:
		b[5] |= flagSingle
	}
}
