package rowdata

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// appendVariantFromText appends the VARIANT that stands for a JSON text.
func appendVariantFromText(v *Vector, text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	b := variantBuilder{ids: map[string]int{}}
	err := b.value(d, 0)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("there is more than one value")
		}
	}
	if err != nil {
		return valueError(v.Type, text, err.Error())
	}
	v.Children[0].AppendBytes(b.out)
	v.Children[1].AppendBytes(b.metadata())
	v.CloseStruct()
	return nil
}

// variantBuilder encodes JSON tokens. Field names are numbered as they come.
type variantBuilder struct {
	out   []byte
	ids   map[string]int
	names []string
}

func (b *variantBuilder) value(d *json.Decoder, depth int) error {
	if depth > variantDepthMax {
		return fmt.Errorf("nested deeper than %d", variantDepthMax)
	}
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch x := tok.(type) {
	case nil:
		b.primitive(variantNull)
	case bool:
		if x {
			b.primitive(variantTrue)
		} else {
			b.primitive(variantFalse)
		}
	case string:
		b.text(x)
	case json.Number:
		return b.number(string(x))
	case json.Delim:
		if x == '[' {
			return b.array(d, depth)
		}
		return b.object(d, depth)
	}
	return nil
}

func (b *variantBuilder) primitive(kind byte) { b.out = append(b.out, variantPrimitive+kind<<2) }

// variantShortMax is the longest text whose length stands in its first byte.
const variantShortMax = 63

func (b *variantBuilder) text(s string) {
	if len(s) <= variantShortMax {
		b.out = append(b.out, byte(len(s))<<2|variantShortText)
	} else {
		b.primitive(variantText)
		b.out = binary.LittleEndian.AppendUint32(b.out, uint32(len(s)))
	}
	b.out = append(b.out, s...)
}

// number takes the narrowest integer, else an exact decimal if there is no
// exponent and it has at most 38 digits, else a double.
func (b *variantBuilder) number(s string) error {
	if x, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case x == int64(int8(x)):
			b.primitive(variantInt8)
			b.out = append(b.out, byte(x))
		case x == int64(int16(x)):
			b.primitive(variantInt16)
			b.out = binary.LittleEndian.AppendUint16(b.out, uint16(x))
		case x == int64(int32(x)):
			b.primitive(variantInt32)
			b.out = binary.LittleEndian.AppendUint32(b.out, uint32(x))
		default:
			b.primitive(variantInt64)
			b.out = binary.LittleEndian.AppendUint64(b.out, uint64(x))
		}
		return nil
	}
	if !strings.ContainsAny(s, "eE") {
		scale := 0
		if i := strings.IndexByte(s, '.'); i >= 0 {
			scale = len(s) - i - 1
		}
		if scale <= 38 {
			if x, fits, _ := parseDecimal(s, 38, scale); fits {
				b.decimal(x, scale)
				return nil
			}
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("number %s is out of range", s)
	}
	b.primitive(variantDouble)
	b.out = binary.LittleEndian.AppendUint64(b.out, math.Float64bits(x))
	return nil
}

func (b *variantBuilder) decimal(x Int128, scale int) {
	kind, width := byte(variantDecimal16), 16
	switch {
	case scale <= 9 && x.fitsPrecision(9):
		kind, width = variantDecimal4, 4
	case scale <= 18 && x.fitsPrecision(18):
		kind, width = variantDecimal8, 8
	}
	b.primitive(kind)
	b.out = append(b.out, byte(scale))
	at := len(b.out)
	b.out = x.AppendBytes(b.out, width)
	slices.Reverse(b.out[at:])
}

func (b *variantBuilder) array(d *json.Decoder, depth int) error {
	start := len(b.out)
	var offsets []int
	for d.More() {
		offsets = append(offsets, len(b.out)-start)
		if err := b.value(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	size, large := uintSize(len(b.out)-start), len(offsets) > math.MaxUint8
	head := []byte{byte(variantArray | (size-1)<<2 | b2i(large)<<4)}
	head = appendUint(head, len(offsets), 1+3*b2i(large))
	for _, o := range append(offsets, len(b.out)-start) {
		head = appendUint(head, o, size)
	}
	b.out = slices.Insert(b.out, start, head...)
	return nil
}

type variantField struct {
	name       string
	id, offset int
}

func (b *variantBuilder) object(d *json.Decoder, depth int) error {
	start := len(b.out)
	var fields []variantField
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return err
		}
		name := tok.(string)
		id, ok := b.ids[name]
		if !ok {
			id = len(b.names)
			b.ids[name], b.names = id, append(b.names, name)
		}
		fields = append(fields, variantField{name, id, len(b.out) - start})
		if err := b.value(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	slices.SortFunc(fields, func(x, y variantField) int {
		return compareUTF16([]byte(x.name), []byte(y.name))
	})
	maxID := 0
	for i := range fields {
		if i > 0 && fields[i].name == fields[i-1].name {
			return fmt.Errorf("field %q occurs twice", fields[i].name)
		}
		maxID = max(maxID, fields[i].id)
	}
	total := len(b.out) - start
	size, idSize, large := uintSize(total), uintSize(maxID), len(fields) > math.MaxUint8
	head := []byte{byte(variantObject | (size-1)<<2 | (idSize-1)<<4 | b2i(large)<<6)}
	head = appendUint(head, len(fields), 1+3*b2i(large))
	for i := range fields {
		head = appendUint(head, fields[i].id, idSize)
	}
	for i := range fields {
		head = appendUint(head, fields[i].offset, size)
	}
	head = appendUint(head, total, size)
	b.out = slices.Insert(b.out, start, head...)
	return nil
}

func (b *variantBuilder) metadata() []byte {
	total := 0
	for _, n := range b.names {
		total += len(n)
	}
	size := uintSize(max(total, len(b.names)))
	out := appendUint([]byte{byte(1 | (size-1)<<6)}, len(b.names), size)
	at := 0
	out = appendUint(out, 0, size)
	for _, n := range b.names {
		at += len(n)
		out = appendUint(out, at, size)
	}
	for _, n := range b.names {
		out = append(out, n...)
	}
	return out
}

// uintSize returns the bytes that an unsigned number up to x needs.
func uintSize(x int) int {
	switch {
	case x <= math.MaxUint8:
		return 1
	case x <= math.MaxUint16:
		return 2
	case x < 1<<24:
		return 3
	}
	return 4
}

func appendUint(dst []byte, x, size int) []byte {
	for range size {
		dst = append(dst, byte(x))
		x >>= 8
	}
	return dst
}
