package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"

	"sluice/paimon/rowdata"
)

// conversion is how the values of a physical type become those of a storage.
type conversion uint8

const (
	convNone conversion = iota
	convBool
	convI32       // INT32 to I32
	convI64       // INT64 to I64
	convI32toI64  // INT32 to I64: BIGINT, DECIMAL
	convTime      // INT64 of a unit to I32 milliseconds
	convTimestamp // INT64 of a unit to I64 or nanos
	convInt96     // INT96 to I64 or nanos
	convF32
	convF64
	convF32toF64
	convBytes      // BYTE_ARRAY
	convFixedBytes // FIXED_LEN_BYTE_ARRAY to bytes
	convDecFixed   // FIXED_LEN_BYTE_ARRAY to I64 or I128
	convDecBytes   // BYTE_ARRAY to I64 or I128
	convI32toI128
	convI64toI128
)

var (
	errDecimal   = errors.New("unscaled value does not fit its DECIMAL")
	errTimestamp = errors.New("timestamp out of range")
)

// conversionTo returns how a leaf of a file is read as t, or convNone.
func conversionTo(t *rowdata.Type, e *schemaElement) conversion {
	unit := timeUnit(e)
	var by [physFixed + 1]conversion // physical type
	switch t.Root {
	case rowdata.Boolean:
		by[physBoolean] = convBool
	case rowdata.TinyInt, rowdata.SmallInt, rowdata.Int, rowdata.Date:
		by[physInt32] = convI32
	case rowdata.Time:
		by[physInt32] = convI32
		if unit != unitNone {
			by[physInt64] = convTime
		}
	case rowdata.BigInt:
		by[physInt64], by[physInt32] = convI64, convI32toI64
	case rowdata.Float:
		by[physFloat] = convF32
	case rowdata.Double:
		by[physDouble], by[physFloat] = convF64, convF32toF64
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		by[physInt96] = convInt96
		switch {
		case unit == unitMillis && t.Precision <= 3 || unit == unitMicros && t.Precision > 3 && t.Precision <= 6:
			by[physInt64] = convI64
		case unit != unitNone:
			by[physInt64] = convTimestamp
		}
	case rowdata.Decimal:
		if e.converted != convertedDecimal && e.logical.kind != logicalDecimal || int(e.decimalScale()) != t.Scale {
			return convNone
		}
		by[physInt32], by[physInt64], by[physFixed], by[physByteArray] = convI32toI64, convI64, convDecFixed, convDecBytes
		if t.Precision > 18 {
			by[physInt32], by[physInt64] = convI32toI128, convI64toI128
		}
	default:
		by[physByteArray], by[physFixed] = convBytes, convFixedBytes
	}
	if e.phys < 0 {
		return convNone
	}
	return by[e.phys]
}

func (e *schemaElement) decimalScale() int32 {
	if e.logical.kind == logicalDecimal {
		return e.logical.scale
	}
	return e.scale
}

// timeUnit returns the unit of a time or timestamp, unitNone for anything else.
func timeUnit(e *schemaElement) int8 {
	if e.logical.kind == logicalTime || e.logical.kind == logicalTimestamp {
		return e.logical.unit
	}
	switch e.converted {
	case convertedTimeMillis, convertedTimestampMillis:
		return unitMillis
	case convertedTimeMicros, convertedTimestampMicros:
		return unitMicros
	}
	return unitNone
}

// describe says what a leaf of a file is, for errors.
func (e *schemaElement) describe() string {
	if e.phys == noPhysical {
		return "a group"
	}
	s := e.phys.String()
	if e.phys == physFixed {
		s += fmt.Sprintf("(%d)", e.typeLength)
	}
	switch {
	case e.logical.kind == logicalDecimal || e.converted == convertedDecimal:
		s += fmt.Sprintf(" DECIMAL(%d, %d)", max(e.precision, e.logical.precision), e.decimalScale())
	case timeUnit(e) != unitNone:
		s += " of " + [...]string{"", "milliseconds", "microseconds", "nanoseconds"}[timeUnit(e)&3]
	}
	return s
}

// appendTo decodes the next n values of the open page, none of them NULL, and
// puts them behind what is in the slices of out. It leaves Valid and the length
// of out alone.
func (l *leafReader) appendTo(out *rowdata.Vector, n int) error {
	v := &l.values
	var err error
	switch l.conv {
	case convI32:
		at := len(out.I32)
		out.I32 = extend(out.I32, n)
		return v.int32s(out.I32[at:])
	case convBool:
		at := len(out.I32)
		out.I32 = extend(out.I32, n)
		return v.bools(out.I32[at:])
	case convI64:
		at := len(out.I64)
		out.I64 = extend(out.I64, n)
		return v.int64s(out.I64[at:])
	case convF32:
		at := len(out.F32)
		out.F32 = extend(out.F32, n)
		return v.float32s(out.F32[at:])
	case convF64:
		at := len(out.F64)
		out.F64 = extend(out.F64, n)
		return v.float64s(out.F64[at:])
	case convBytes:
		return v.appendStrings(&out.Data, &out.Offs, n)
	case convFixedBytes:
		var b []byte
		if b, err = v.fixed(n); err != nil {
			return err
		}
		if out.Data, err = room(out.Data, len(b)); err != nil {
			return err
		}
		for i := range n {
			out.Data = append(out.Data, b[i*v.width:(i+1)*v.width]...)
			out.Offs = append(out.Offs, uint32(len(out.Data)))
		}
		return nil
	case convI32toI64, convI32toI128, convF32toF64:
		return l.appendWider(out, n)
	case convTime, convTimestamp, convI64toI128:
		return l.appendScaled(out, n)
	case convInt96:
		return l.appendInt96(out, n)
	}
	return l.appendDecimals(out, n)
}

// extend makes s longer by n values, whatever they are.
func extend[T any](s []T, n int) []T {
	if cap(s)-len(s) < n {
		g := make([]T, len(s)+n, max(2*cap(s), len(s)+n))
		copy(g, s)
		return g
	}
	return s[:len(s)+n]
}

// appendWider reads values of 32 bits for a type of more.
func (l *leafReader) appendWider(out *rowdata.Vector, n int) error {
	if l.conv == convF32toF64 {
		var part [256]float32
		for n > 0 {
			k := min(n, len(part))
			if err := l.values.float32s(part[:k]); err != nil {
				return err
			}
			for _, x := range part[:k] {
				out.F64 = append(out.F64, float64(x))
			}
			n -= k
		}
		return nil
	}
	var part [256]int32
	for n > 0 {
		k := min(n, len(part))
		if err := l.values.int32s(part[:k]); err != nil {
			return err
		}
		for _, x := range part[:k] {
			if l.conv == convI32toI64 {
				out.I64 = append(out.I64, int64(x))
			} else {
				out.I128 = append(out.I128, rowdata.Int128From(int64(x)))
			}
		}
		n -= k
	}
	return nil
}

// appendScaled reads 64-bit times and timestamps of another unit.
func (l *leafReader) appendScaled(out *rowdata.Vector, n int) error {
	var part [256]int64
	for n > 0 {
		k := min(n, len(part))
		if err := l.values.int64s(part[:k]); err != nil {
			return err
		}
		for _, x := range part[:k] {
			switch l.conv {
			case convI64toI128:
				out.I128 = append(out.I128, rowdata.Int128From(x))
			case convTime:
				out.I32 = append(out.I32, int32(floorDiv(x, 1_000_000/nanosOf(l.unit))))
			default:
				per := 1_000_000 / nanosOf(l.unit) // units in a millisecond
				millis := floorDiv(x, per)
				if err := l.appendTimestamp(out, millis, int32((x-millis*per)*nanosOf(l.unit))); err != nil {
					return err
				}
			}
		}
		n -= k
	}
	return nil
}

// nanosOf returns the nanoseconds of a unit.
func nanosOf(unit int8) int64 {
	switch unit {
	case unitMicros:
		return 1000
	case unitNanos:
		return 1
	}
	return 1_000_000
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// appendTimestamp is like Vector.AppendTimestamp, but leaves the length alone.
func (l *leafReader) appendTimestamp(out *rowdata.Vector, millis int64, nanos int32) error {
	switch {
	case out.Storage() == rowdata.StoreNanos:
		out.I64, out.I32 = append(out.I64, millis), append(out.I32, nanos)
	case out.Type.Precision <= 3:
		out.I64 = append(out.I64, millis)
	default:
		if us := millis * 1000; us/1000 != millis {
			return errTimestamp
		}
		out.I64 = append(out.I64, millis*1000+int64(nanos/1000))
	}
	return nil
}

// appendInt96 reads timestamps as nanoseconds of a day, which may be negative or
// more than a day has, and a Julian day.
func (l *leafReader) appendInt96(out *rowdata.Vector, n int) error {
	b, err := l.values.fixed(n)
	if err != nil {
		return err
	}
	for ; len(b) > 0; b = b[12:] {
		nanos := int64(binary.LittleEndian.Uint64(b))
		day := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianEpoch
		millis := floorDiv(nanos, 1_000_000)
		if err := l.appendTimestamp(out, day*dayMillis+millis, int32(nanos-millis*1_000_000)); err != nil {
			return err
		}
	}
	return nil
}

// appendDecimals reads big-endian two's complement numbers.
func (l *leafReader) appendDecimals(out *rowdata.Vector, n int) error {
	v := &l.values
	if l.conv == convDecFixed {
		b, err := v.fixed(n)
		if err != nil {
			return err
		}
		for ; len(b) > 0; b = b[v.width:] {
			if err := appendDecimal(out, b[:v.width]); err != nil {
				return err
			}
		}
		return nil
	}
	for n > 0 {
		k := min(n, 1024)
		v.strings, v.offs = v.strings[:0], append(v.offs[:0], 0)
		if err := v.appendStrings(&v.strings, &v.offs, k); err != nil {
			return err
		}
		for i := range k {
			if err := appendDecimal(out, v.strings[v.offs[i]:v.offs[i+1]]); err != nil {
				return err
			}
		}
		n -= k
	}
	return nil
}

func appendDecimal(out *rowdata.Vector, b []byte) error {
	for len(b) > 16 { // more bytes than needed hold the sign only
		if b[0] != 0 && b[0] != 0xff || (b[0]^b[1])&0x80 != 0 {
			return errDecimal
		}
		b = b[1:]
	}
	x, ok := rowdata.Int128FromBytes(b)
	if !ok {
		return errDecimal
	}
	if out.Storage() == rowdata.StoreI128 {
		out.I128 = append(out.I128, x)
		return nil
	}
	if !x.IsInt64() {
		return errDecimal
	}
	out.I64 = append(out.I64, int64(x.Lo))
	return nil
}
