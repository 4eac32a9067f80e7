package merge

import (
	"slices"

	"sluice/paimon/rowdata"
)

// Stretch is rows From..To (exclusive) of one of several batches.
type Stretch struct {
	Batch    int32
	From, To int32
}

// AppendStretch appends rows from..to of a batch to the stretches: to the last one
// if they follow it.
func AppendStretch(st []Stretch, batch, from, to int32) []Stretch {
	if n := len(st); n > 0 {
		if last := &st[n-1]; last.Batch == batch && last.To == from {
			last.To = to
			return st
		}
	}
	return append(st, Stretch{Batch: batch, From: from, To: to})
}

// Gatherer copies stretches of several batches into one, a column at a time.
// The zero value is ready; it keeps scratch memory between calls.
type Gatherer struct {
	i32     [][]int32
	i64     [][]int64
	f32     [][]float32
	f64     [][]float64
	i128    [][]rowdata.Int128
	bytes   [][]byte
	offs    [][]uint32
	kinds   [][]rowdata.RowKind
	vectors []*rowdata.Vector
	none    rowdata.KeyValues // stands for a batch that no stretch names
	empty   rowdata.Vector    // and for its columns
}

// Append appends the stretches to dst, in order. The batches have the columns
// of dst; batches that no stretch names may be nil.
func (g *Gatherer) Append(dst *rowdata.KeyValues, batches []*rowdata.KeyValues, stretches []Stretch) {
	rows := Rows(stretches)
	if rows == 0 {
		return
	}
	g.i64, g.kinds = g.i64[:0], g.kinds[:0]
	for _, b := range batches {
		if b == nil {
			b = &g.none
		}
		g.i64, g.kinds = append(g.i64, b.Seq), append(g.kinds, b.Kinds)
	}
	dst.Seq = gather(dst.Seq, g.i64, stretches, rows)
	dst.Kinds = gather(dst.Kinds, g.kinds, stretches, rows)
	g.AppendValues(&dst.Batch, batches, stretches)
}

// AppendValues is Append for the columns alone.
func (g *Gatherer) AppendValues(dst *rowdata.Batch, batches []*rowdata.KeyValues, stretches []Stretch) {
	rows := Rows(stretches)
	for c, v := range dst.Cols {
		g.vectors = g.vectors[:0]
		for _, b := range batches {
			if b == nil {
				g.vectors = append(g.vectors, nil)
			} else {
				g.vectors = append(g.vectors, b.Cols[c])
			}
		}
		g.vector(v, g.vectors, stretches, rows)
	}
	dst.N += rows
}

// Rows returns the number of rows of the stretches.
func Rows(stretches []Stretch) int {
	n := 0
	for _, s := range stretches {
		n += int(s.To - s.From)
	}
	return n
}

func (g *Gatherer) vector(dst *rowdata.Vector, src []*rowdata.Vector, st []Stretch, rows int) {
	switch dst.Storage() {
	case rowdata.StoreList, rowdata.StoreMap, rowdata.StoreStruct:
		for _, s := range st {
			dst.AppendRange(src[s.Batch], int(s.From), int(s.To))
		}
		return
	}
	for i, v := range src {
		if v == nil {
			src[i] = &g.empty
		}
	}
	g.valid(dst, src, st, rows)
	switch dst.Storage() {
	case rowdata.StoreI32:
		g.i32 = columns(g.i32, src, func(v *rowdata.Vector) []int32 { return v.I32 })
		dst.I32 = gather(dst.I32, g.i32, st, rows)
	case rowdata.StoreI64:
		g.i64 = columns(g.i64, src, func(v *rowdata.Vector) []int64 { return v.I64 })
		dst.I64 = gather(dst.I64, g.i64, st, rows)
	case rowdata.StoreF32:
		g.f32 = columns(g.f32, src, func(v *rowdata.Vector) []float32 { return v.F32 })
		dst.F32 = gather(dst.F32, g.f32, st, rows)
	case rowdata.StoreF64:
		g.f64 = columns(g.f64, src, func(v *rowdata.Vector) []float64 { return v.F64 })
		dst.F64 = gather(dst.F64, g.f64, st, rows)
	case rowdata.StoreI128:
		g.i128 = columns(g.i128, src, func(v *rowdata.Vector) []rowdata.Int128 { return v.I128 })
		dst.I128 = gather(dst.I128, g.i128, st, rows)
	case rowdata.StoreNanos:
		g.i64 = columns(g.i64, src, func(v *rowdata.Vector) []int64 { return v.I64 })
		dst.I64 = gather(dst.I64, g.i64, st, rows)
		g.i32 = columns(g.i32, src, func(v *rowdata.Vector) []int32 { return v.I32 })
		dst.I32 = gather(dst.I32, g.i32, st, rows)
	case rowdata.StoreBytes:
		g.bytes = columns(g.bytes, src, func(v *rowdata.Vector) []byte { return v.Data })
		g.offs = columns(g.offs, src, func(v *rowdata.Vector) []uint32 { return v.Offs })
		dst.Data, dst.Offs = gatherBytes(dst.Data, dst.Offs, g.bytes, g.offs, st, rows)
	}
	dst.SetLen(dst.Len() + rows)
}

// valid appends the NULL marks, giving dst its marks if any batch has some.
func (g *Gatherer) valid(dst *rowdata.Vector, src []*rowdata.Vector, st []Stretch, rows int) {
	marked := dst.Valid != nil
	for _, v := range src {
		marked = marked || v.Valid != nil
	}
	if !marked {
		return
	}
	n := dst.Len()
	if dst.Valid == nil {
		dst.Valid = ones(make([]byte, 0, n+rows), n)
	}
	dst.Valid = slices.Grow(dst.Valid, rows)[:n+rows]
	out := dst.Valid[n:]
	k := 0
	for _, s := range st {
		valid := src[s.Batch].Valid
		switch {
		case valid == nil:
			for range s.To - s.From {
				out[k] = 1
				k++
			}
		case s.To == s.From+1:
			out[k] = valid[s.From]
			k++
		default:
			k += copy(out[k:], valid[s.From:s.To])
		}
	}
}

func ones(b []byte, n int) []byte {
	for range n {
		b = append(b, 1)
	}
	return b
}

// columns collects the storage of one column from each batch.
func columns[T any](to [][]T, src []*rowdata.Vector, of func(*rowdata.Vector) []T) [][]T {
	to = to[:0]
	for _, v := range src {
		to = append(to, of(v))
	}
	return to
}

func gather[T any](dst []T, src [][]T, st []Stretch, rows int) []T {
	at := len(dst)
	dst = slices.Grow(dst, rows)[:at+rows]
	out := dst[at:]
	k := 0
	for _, s := range st {
		from := src[s.Batch]
		if s.To == s.From+1 {
			out[k] = from[s.From]
			k++
			continue
		}
		k += copy(out[k:], from[s.From:s.To])
	}
	return dst
}

// short and long are the lengths up to which a value is copied with moves of a
// fixed size, past its end: the processor then overlaps the waits for memory of
// many values, which it cannot if each has a length of its own to branch on.
const (
	short = 16
	long  = 64
)

// copyLong copies in pieces of a register, as a longer array would be copied by a
// call.
func copyLong(dst, src *[long]byte) {
	*(*[16]byte)(dst[0:16]) = *(*[16]byte)(src[0:16])
	*(*[16]byte)(dst[16:32]) = *(*[16]byte)(src[16:32])
	*(*[16]byte)(dst[32:48]) = *(*[16]byte)(src[32:48])
	*(*[16]byte)(dst[48:64]) = *(*[16]byte)(src[48:64])
}

func gatherBytes(data []byte, offs []uint32, src [][]byte, srcOffs [][]uint32, st []Stretch, rows int) ([]byte, []uint32) {
	size := 0
	for _, s := range st {
		o := srcOffs[s.Batch]
		size += int(o[s.To] - o[s.From])
	}
	end := len(data)
	data = slices.Grow(data, size+long)
	room := data[:end+size+long]
	at := len(offs)
	offs = slices.Grow(offs, rows)[:at+rows]
	out := offs[at:]
	k := 0
	for _, s := range st {
		o, from := srcOffs[s.Batch], src[s.Batch]
		a := int(o[s.From])
		if s.To == s.From+1 {
			n := int(o[s.To]) - a
			switch {
			case n <= short && a+short <= len(from):
				*(*[short]byte)(room[end:]) = *(*[short]byte)(from[a:])
			case n <= long && a+long <= len(from):
				copyLong((*[long]byte)(room[end:]), (*[long]byte)(from[a:]))
			default:
				copy(room[end:], from[a:a+n])
			}
			end += n
			out[k] = uint32(end)
			k++
			continue
		}
		shift := uint32(end - a)
		end += copy(room[end:], from[a:o[s.To]])
		for _, x := range o[s.From+1 : s.To+1] {
			out[k] = x + shift
			k++
		}
	}
	return room[:end], offs
}
