package dv

import "encoding/binary"

const (
	cookieNoRuns = 12346
	cookieRuns   = 12347 // in the lower half; the upper half is the container count less one

	containersMax     = 1 << 16
	arrayMax          = 4096 // values of an array container; more are a bitset
	bitsetBytes       = 8192
	offsetsFromNoRuns = 4 // from this container count on, files with runs have offsets
)

// checkBitmap walks through a 32-bit bitmap in the portable format and returns
// how many bytes it takes. It checks that all containers are inside of b, so that
// the bitmap library never reads or allocates more than is there.
func checkBitmap(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, corrupt("the cookie of a bitmap is cut off")
	}
	cookie := binary.LittleEndian.Uint32(b)
	pos, containers := 4, 0
	var runs []byte // a bit a container
	offsets := true
	switch {
	case cookie == cookieNoRuns:
		if len(b) < 8 {
			return 0, corrupt("the container count of a bitmap is cut off")
		}
		count := binary.LittleEndian.Uint32(b[4:])
		if count > containersMax {
			return 0, corrupt("a bitmap has %d containers", count)
		}
		containers, pos = int(count), 8
	case cookie&0xffff == cookieRuns:
		containers = int(cookie>>16) + 1
		flags := (containers + 7) / 8
		if len(b) < pos+flags {
			return 0, corrupt("the run flags of a bitmap are cut off")
		}
		runs = b[pos : pos+flags]
		pos += flags
		offsets = containers >= offsetsFromNoRuns
	default:
		return 0, corrupt("a bitmap has the cookie %d", cookie)
	}
	heads := b[pos:]
	if len(heads) < 4*containers {
		return 0, corrupt("the keys of a bitmap are cut off")
	}
	pos += 4 * containers
	if offsets {
		if len(b) < pos+4*containers {
			return 0, corrupt("the offsets of a bitmap are cut off")
		}
		pos += 4 * containers
	}
	for c := range containers {
		key := binary.LittleEndian.Uint16(heads[4*c:])
		if c > 0 && key <= binary.LittleEndian.Uint16(heads[4*c-4:]) {
			return 0, corrupt("the keys of a bitmap are not ascending")
		}
		size := bitsetBytes
		switch cardinality := int(binary.LittleEndian.Uint16(heads[4*c+2:])) + 1; {
		case runs != nil && runs[c/8]>>(c%8)&1 == 1:
			if len(b) < pos+2 {
				return 0, corrupt("a run container is cut off")
			}
			size = 2 + 4*int(binary.LittleEndian.Uint16(b[pos:]))
		case cardinality <= arrayMax:
			size = 2 * cardinality
		}
		if len(b) < pos+size {
			return 0, corrupt("container %d of a bitmap is cut off", c)
		}
		pos += size
	}
	return pos, nil
}
