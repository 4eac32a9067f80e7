package rowdata

import (
	"fmt"
	"math"
)

// Vector is a column of values of one type, NULLs included.
//
// Every row has a place in the storage slices, also a NULL, whose place holds
// the zero value (for lists and maps: an empty range; for structs: NULL in every
// child). So row i is always at index i, whatever is NULL.
//
// The fields are open to codecs, which fill and drain them in loops of their
// own. Whoever writes to them keeps these rules: Valid is nil or as long as the
// vector; Offs is one longer than the vector and begins with 0; strings are
// UTF-8; the children of a struct are as long as the vector. The bytes of a
// vector are at most 4 GiB; whoever fills batches keeps them far smaller.
type Vector struct {
	Type  *Type
	Valid []byte // nil: no NULL. Otherwise a byte a row: 1 a value, 0 NULL, which are the definition levels of a flat Parquet column

	I32      []int32
	I64      []int64
	F32      []float32
	F64      []float64
	I128     []Int128
	Data     []byte    // StoreBytes: values end to end
	Offs     []uint32  // StoreBytes: value i is Data[Offs[i]:Offs[i+1]]; StoreList, StoreMap: its elements are rows Offs[i]..Offs[i+1] of the children
	Children []*Vector // StoreList: element; StoreMap: key, value; StoreStruct: members

	n     int
	store Storage
}

var (
	multisetCount = &Type{Root: Int, NotNull: true}
	variantPart   = &Type{Root: Varbinary, NotNull: true, Length: MaxLength}
)

// NewVector returns an empty vector for values of type t. There is room for
// capacity rows before it must grow.
func NewVector(t *Type, capacity int) *Vector {
	v := &Vector{Type: t, store: t.Storage()}
	switch v.store {
	case StoreI32:
		v.I32 = make([]int32, 0, capacity)
	case StoreI64:
		v.I64 = make([]int64, 0, capacity)
	case StoreF32:
		v.F32 = make([]float32, 0, capacity)
	case StoreF64:
		v.F64 = make([]float64, 0, capacity)
	case StoreI128:
		v.I128 = make([]Int128, 0, capacity)
	case StoreNanos:
		v.I64, v.I32 = make([]int64, 0, capacity), make([]int32, 0, capacity)
	case StoreBytes:
		v.Offs = append(make([]uint32, 0, capacity+1), 0)
	case StoreList:
		v.Offs = append(make([]uint32, 0, capacity+1), 0)
		v.Children = []*Vector{NewVector(t.Elem, 0)}
	case StoreMap:
		v.Offs = append(make([]uint32, 0, capacity+1), 0)
		if t.Root == Multiset {
			v.Children = []*Vector{NewVector(t.Elem, 0), NewVector(multisetCount, 0)}
		} else {
			v.Children = []*Vector{NewVector(t.Key, 0), NewVector(t.Elem, 0)}
		}
	case StoreStruct:
		if t.Root == Variant {
			v.Children = []*Vector{NewVector(variantPart, capacity), NewVector(variantPart, capacity)}
			break
		}
		v.Children = make([]*Vector, len(t.Fields))
		for i := range t.Fields {
			v.Children[i] = NewVector(t.Fields[i].Type, capacity)
		}
	}
	return v
}

// Len returns the number of rows.
func (v *Vector) Len() int { return v.n }

// Storage returns the physical class of the values.
func (v *Vector) Storage() Storage { return v.store }

// SetLen tells the vector how many rows a codec has put into its slices. It
// panics if the storage does not have exactly n rows: that is a bug in the codec.
func (v *Vector) SetLen(n int) {
	ok := true
	switch v.store {
	case StoreI32:
		ok = len(v.I32) == n
	case StoreI64:
		ok = len(v.I64) == n
	case StoreF32:
		ok = len(v.F32) == n
	case StoreF64:
		ok = len(v.F64) == n
	case StoreI128:
		ok = len(v.I128) == n
	case StoreNanos:
		ok = len(v.I64) == n && len(v.I32) == n
	case StoreBytes:
		ok = len(v.Offs) == n+1 && int(v.Offs[n]) == len(v.Data)
	case StoreList, StoreMap:
		ok = len(v.Offs) == n+1
		for _, c := range v.Children {
			ok = ok && int(v.Offs[len(v.Offs)-1]) == c.n
		}
	case StoreStruct:
		for _, c := range v.Children {
			ok = ok && c.n == n
		}
	}
	if !ok || v.Valid != nil && len(v.Valid) != n {
		panic(fmt.Sprintf("rowdata: vector of %s has no %d rows", v.Type, n))
	}
	v.n = n
}

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.n = 0
	v.Valid = nil
	v.I32, v.I64, v.F32, v.F64, v.I128, v.Data = v.I32[:0], v.I64[:0], v.F32[:0], v.F64[:0], v.I128[:0], v.Data[:0]
	if v.Offs != nil {
		v.Offs = v.Offs[:1]
	}
	for _, c := range v.Children {
		c.Reset()
	}
}

// Truncate keeps the first n rows and drops what has been put behind them, be it
// rows or the beginning of one.
func (v *Vector) Truncate(n int) {
	v.n = n
	if v.Valid != nil {
		v.Valid = v.Valid[:n]
	}
	switch v.store {
	case StoreI32:
		v.I32 = v.I32[:n]
	case StoreI64:
		v.I64 = v.I64[:n]
	case StoreF32:
		v.F32 = v.F32[:n]
	case StoreF64:
		v.F64 = v.F64[:n]
	case StoreI128:
		v.I128 = v.I128[:n]
	case StoreNanos:
		v.I64, v.I32 = v.I64[:n], v.I32[:n]
	case StoreBytes:
		v.Offs = v.Offs[:n+1]
		v.Data = v.Data[:v.Offs[n]]
	case StoreList, StoreMap:
		v.Offs = v.Offs[:n+1]
		for _, c := range v.Children {
			c.Truncate(int(v.Offs[n]))
		}
	case StoreStruct:
		for _, c := range v.Children {
			c.Truncate(n)
		}
	}
}

// IsNull tells whether row i is NULL.
func (v *Vector) IsNull(i int) bool { return v.Valid != nil && v.Valid[i] == 0 }

// HasNulls tells whether any row is NULL.
func (v *Vector) HasNulls() bool { return v.NullCount() > 0 }

// NullCount returns the number of NULL rows.
func (v *Vector) NullCount() int {
	n := 0
	for _, b := range v.Valid {
		if b == 0 {
			n++
		}
	}
	return n
}

// Bytes returns the bytes of row i of a StoreBytes vector. They belong to the
// vector and stay valid until it is reset or appended to.
func (v *Vector) Bytes(i int) []byte { return v.Data[v.Offs[i]:v.Offs[i+1]] }

// MemSize returns about how many bytes the rows take in memory.
func (v *Vector) MemSize() int {
	size := len(v.Valid) + 4*len(v.I32) + 8*len(v.I64) + 4*len(v.F32) + 8*len(v.F64) + 16*len(v.I128) + len(v.Data) + 4*len(v.Offs)
	for _, c := range v.Children {
		size += c.MemSize()
	}
	return size
}

// appended counts a row that was just put into the storage slices.
func (v *Vector) appended() {
	if v.Valid != nil {
		v.Valid = append(v.Valid, 1)
	}
	v.n++
}

// materialize gives a vector without NULLs its Valid bytes.
func (v *Vector) materialize() {
	if v.Valid != nil {
		return
	}
	room := max(cap(v.I32), cap(v.I64), cap(v.F32), cap(v.F64), cap(v.I128), cap(v.Offs), v.n+1, 16)
	v.Valid = make([]byte, v.n, room)
	for i := range v.Valid {
		v.Valid[i] = 1
	}
}

// AppendNull appends a NULL.
func (v *Vector) AppendNull() {
	v.materialize()
	v.appendZero()
	v.Valid = append(v.Valid, 0)
	v.n++
}

// appendZero puts a place without a value into the storage slices.
func (v *Vector) appendZero() {
	switch v.store {
	case StoreI32:
		v.I32 = append(v.I32, 0)
	case StoreI64:
		v.I64 = append(v.I64, 0)
	case StoreF32:
		v.F32 = append(v.F32, 0)
	case StoreF64:
		v.F64 = append(v.F64, 0)
	case StoreI128:
		v.I128 = append(v.I128, Int128{})
	case StoreNanos:
		v.I64, v.I32 = append(v.I64, 0), append(v.I32, 0)
	case StoreBytes, StoreList, StoreMap:
		v.Offs = append(v.Offs, v.Offs[len(v.Offs)-1])
	case StoreStruct:
		for _, c := range v.Children {
			c.AppendNull()
		}
	}
}

// AppendI32 appends a value of a StoreI32 type.
func (v *Vector) AppendI32(x int32) { v.I32 = append(v.I32, x); v.appended() }

// AppendBool appends a BOOLEAN.
func (v *Vector) AppendBool(x bool) {
	if x {
		v.AppendI32(1)
	} else {
		v.AppendI32(0)
	}
}

// AppendI64 appends a value of a StoreI64 type.
func (v *Vector) AppendI64(x int64) { v.I64 = append(v.I64, x); v.appended() }

// AppendF32 appends a FLOAT.
func (v *Vector) AppendF32(x float32) { v.F32 = append(v.F32, x); v.appended() }

// AppendF64 appends a DOUBLE.
func (v *Vector) AppendF64(x float64) { v.F64 = append(v.F64, x); v.appended() }

// AppendI128 appends the unscaled value of a DECIMAL(p>18).
func (v *Vector) AppendI128(x Int128) { v.I128 = append(v.I128, x); v.appended() }

// AppendTimestamp appends a timestamp of any precision, given as epoch
// milliseconds and nanoseconds within the millisecond (0..999999). Digits that
// the type does not keep are cut off.
func (v *Vector) AppendTimestamp(millis int64, nanos int32) {
	switch {
	case v.store == StoreNanos:
		v.I64, v.I32 = append(v.I64, millis), append(v.I32, nanos)
	case v.Type.Precision <= 3:
		v.I64 = append(v.I64, millis)
	default:
		v.I64 = append(v.I64, millis*1000+int64(nanos/1000))
	}
	v.appended()
}

// TimestampAt returns row i of a timestamp vector of any precision as epoch
// milliseconds and nanoseconds within the millisecond.
func (v *Vector) TimestampAt(i int) (millis int64, nanos int32) {
	switch {
	case v.store == StoreNanos:
		return v.I64[i], v.I32[i]
	case v.Type.Precision <= 3:
		return v.I64[i], 0
	}
	us := v.I64[i]
	millis = us / 1000
	rest := us % 1000
	if rest < 0 {
		millis--
		rest += 1000
	}
	return millis, int32(rest) * 1000
}

// AppendBytes appends a copy of b as a value of a StoreBytes type.
func (v *Vector) AppendBytes(b []byte) {
	v.Data = append(v.Data, b...)
	v.closeBytes()
	v.appended()
}

// closeBytes ends a value whose bytes have been put into Data.
func (v *Vector) closeBytes() {
	if len(v.Data) > math.MaxUint32 {
		panic("rowdata: a vector of more than 4 GiB")
	}
	v.Offs = append(v.Offs, uint32(len(v.Data)))
}

// AppendString is [Vector.AppendBytes] of a string.
func (v *Vector) AppendString(s string) {
	v.Data = append(v.Data, s...)
	v.closeBytes()
	v.appended()
}

// CloseList ends a list or map whose elements have been appended to the
// children since the last row.
func (v *Vector) CloseList() {
	v.Offs = append(v.Offs, uint32(v.Children[0].n))
	v.appended()
}

// CloseStruct ends a row whose members have been appended to the children.
func (v *Vector) CloseStruct() { v.appended() }

// AppendFrom appends row i of src, which has the same storage.
func (v *Vector) AppendFrom(src *Vector, i int) {
	if src.IsNull(i) {
		v.AppendNull()
		return
	}
	switch v.store {
	case StoreI32:
		v.I32 = append(v.I32, src.I32[i])
	case StoreI64:
		v.I64 = append(v.I64, src.I64[i])
	case StoreF32:
		v.F32 = append(v.F32, src.F32[i])
	case StoreF64:
		v.F64 = append(v.F64, src.F64[i])
	case StoreI128:
		v.I128 = append(v.I128, src.I128[i])
	case StoreNanos:
		v.I64, v.I32 = append(v.I64, src.I64[i]), append(v.I32, src.I32[i])
	case StoreBytes:
		v.Data = append(v.Data, src.Data[src.Offs[i]:src.Offs[i+1]]...)
		v.closeBytes()
	case StoreList, StoreMap:
		for c, child := range v.Children {
			child.AppendRange(src.Children[c], int(src.Offs[i]), int(src.Offs[i+1]))
		}
		v.Offs = append(v.Offs, uint32(v.Children[0].n))
	case StoreStruct:
		for c, child := range v.Children {
			child.AppendFrom(src.Children[c], i)
		}
	}
	v.appended()
}

// AppendRange appends rows from..to (exclusive) of src, which has the same
// storage.
func (v *Vector) AppendRange(src *Vector, from, to int) {
	if from >= to {
		return
	}
	if src.Valid != nil {
		v.materialize()
	}
	switch v.store {
	case StoreI32:
		v.I32 = append(v.I32, src.I32[from:to]...)
	case StoreI64:
		v.I64 = append(v.I64, src.I64[from:to]...)
	case StoreF32:
		v.F32 = append(v.F32, src.F32[from:to]...)
	case StoreF64:
		v.F64 = append(v.F64, src.F64[from:to]...)
	case StoreI128:
		v.I128 = append(v.I128, src.I128[from:to]...)
	case StoreNanos:
		v.I64, v.I32 = append(v.I64, src.I64[from:to]...), append(v.I32, src.I32[from:to]...)
	case StoreBytes:
		shift := uint32(len(v.Data)) - src.Offs[from]
		v.Data = append(v.Data, src.Data[src.Offs[from]:src.Offs[to]]...)
		if len(v.Data) > math.MaxUint32 {
			panic("rowdata: a vector of more than 4 GiB")
		}
		for _, o := range src.Offs[from+1 : to+1] {
			v.Offs = append(v.Offs, o+shift)
		}
	case StoreList, StoreMap:
		shift := uint32(v.Children[0].n) - src.Offs[from]
		for c, child := range v.Children {
			child.AppendRange(src.Children[c], int(src.Offs[from]), int(src.Offs[to]))
		}
		for _, o := range src.Offs[from+1 : to+1] {
			v.Offs = append(v.Offs, o+shift)
		}
	case StoreStruct:
		for c, child := range v.Children {
			child.AppendRange(src.Children[c], from, to)
		}
	}
	switch {
	case src.Valid != nil:
		v.Valid = append(v.Valid, src.Valid[from:to]...)
	case v.Valid != nil:
		for range to - from {
			v.Valid = append(v.Valid, 1)
		}
	}
	v.n += to - from
}

// Gather appends the rows of src at the positions idx, in that order. It looks
// at the type once for all rows.
func (v *Vector) Gather(src *Vector, idx []int32) {
	if src.Valid != nil {
		v.materialize()
		for _, i := range idx {
			v.Valid = append(v.Valid, src.Valid[i])
		}
	} else if v.Valid != nil {
		for range idx {
			v.Valid = append(v.Valid, 1)
		}
	}
	switch v.store {
	case StoreI32:
		v.I32 = gather(v.I32, src.I32, idx)
	case StoreI64:
		v.I64 = gather(v.I64, src.I64, idx)
	case StoreF32:
		v.F32 = gather(v.F32, src.F32, idx)
	case StoreF64:
		v.F64 = gather(v.F64, src.F64, idx)
	case StoreI128:
		v.I128 = gather(v.I128, src.I128, idx)
	case StoreNanos:
		v.I64, v.I32 = gather(v.I64, src.I64, idx), gather(v.I32, src.I32, idx)
	case StoreBytes:
		for _, i := range idx {
			v.Data = append(v.Data, src.Data[src.Offs[i]:src.Offs[i+1]]...)
			v.closeBytes()
		}
	case StoreList, StoreMap:
		for _, i := range idx {
			for c, child := range v.Children {
				child.AppendRange(src.Children[c], int(src.Offs[i]), int(src.Offs[i+1]))
			}
			v.Offs = append(v.Offs, uint32(v.Children[0].n))
		}
	case StoreStruct:
		for c, child := range v.Children {
			child.Gather(src.Children[c], idx)
		}
	}
	v.n += len(idx)
}

func gather[T any](dst, src []T, idx []int32) []T {
	at := len(dst)
	dst = append(dst, make([]T, len(idx))...)
	out := dst[at:]
	for k, i := range idx {
		out[k] = src[i]
	}
	return dst
}

// Slice returns a vector of one row, a copy of row i: a scalar.
func (v *Vector) Slice(i int) *Vector {
	s := NewVector(v.Type, 1)
	s.AppendFrom(v, i)
	return s
}
