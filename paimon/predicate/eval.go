package predicate

import (
	"bytes"
	"cmp"

	"sluice/paimon/rowdata"
)

// Evaluator runs a predicate on batches. It reuses its memory and serves one
// goroutine.
type Evaluator struct {
	root *node
	bufs [][]truth // one a depth
}

// NewEvaluator returns an evaluator of the predicate.
func (p *Predicate) NewEvaluator() *Evaluator { return &Evaluator{root: p.root} }

// Select appends the positions of the rows that match.
func (e *Evaluator) Select(dst []int32, b *rowdata.Batch) []int32 {
	for i, t := range e.eval(e.root, b, 0) {
		if t == isTrue {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// Mask sets keep, which has a place for each row, to whether the row matches.
func (e *Evaluator) Mask(keep []bool, b *rowdata.Batch) {
	for i, t := range e.eval(e.root, b, 0) {
		keep[i] = t == isTrue
	}
}

func (e *Evaluator) buffer(depth, n int) []truth {
	for len(e.bufs) <= depth {
		e.bufs = append(e.bufs, nil)
	}
	if cap(e.bufs[depth]) < n {
		e.bufs[depth] = make([]truth, n)
	}
	return e.bufs[depth][:n]
}

// eval returns the truth of each row, valid until the next call for that depth.
func (e *Evaluator) eval(n *node, b *rowdata.Batch, depth int) []truth {
	out := e.buffer(depth, b.N)
	switch n.kind {
	case nodeAnd, nodeOr:
		copy(out, e.eval(n.kids[0], b, depth+1))
		for _, k := range n.kids[1:] {
			more := e.eval(k, b, depth+1)
			if n.kind == nodeAnd {
				for i, t := range more {
					out[i] = min(out[i], t)
				}
			} else {
				for i, t := range more {
					out[i] = max(out[i], t)
				}
			}
		}
		return out
	case nodeConst:
		fill(out, n.truth)
		return out
	}
	v := b.Cols[n.col]
	switch n.kind {
	case nodeNull:
		fill(out, truthOf(n.not))
		for i, ok := range v.Valid {
			out[i] = truthOf((ok == 0) != n.not)
		}
		return out
	case nodeValid:
		fill(out, n.truth)
	case nodeCompare:
		compareColumn(out, v, n.op, n.values)
	case nodeIn:
		n.set.contains(out, v)
		if n.unsure {
			for i, t := range out {
				out[i] = max(t, isUnknown)
			}
		}
	case nodeLike:
		for i := range out {
			out[i] = truthOf(n.like.match(v.Bytes(i)))
		}
	}
	if n.not {
		for i, t := range out {
			out[i] = isTrue - t
		}
	}
	for i, ok := range v.Valid {
		if ok == 0 {
			out[i] = isUnknown
		}
	}
	return out
}

func fill(out []truth, t truth) {
	for i := range out {
		out[i] = t
	}
}

// compareColumn compares each value of a column with a literal. The places of
// NULLs get any truth.
func compareColumn(out []truth, v *rowdata.Vector, o op, lit *rowdata.Vector) {
	switch v.Storage() {
	case rowdata.StoreI32:
		compareOrdered(out, v.I32, o, lit.I32[0])
	case rowdata.StoreI64:
		compareOrdered(out, v.I64, o, lit.I64[0])
	case rowdata.StoreF32:
		compareFloats(out, v.F32, o, lit.F32[0])
	case rowdata.StoreF64:
		compareFloats(out, v.F64, o, lit.F64[0])
	case rowdata.StoreBytes:
		compareBytes(out, v, o, lit.Bytes(0))
	default:
		for i := range out {
			out[i] = truthOf(!v.IsNull(i) && o.holds(rowdata.Compare(v, i, lit, 0)))
		}
	}
}

func compareOrdered[T int32 | int64](out []truth, vals []T, o op, lit T) {
	vals = vals[:len(out)]
	switch o {
	case opEqual:
		for i, x := range vals {
			out[i] = truthOf(x == lit)
		}
	case opNotEqual:
		for i, x := range vals {
			out[i] = truthOf(x != lit)
		}
	case opLess:
		for i, x := range vals {
			out[i] = truthOf(x < lit)
		}
	case opLessEqual:
		for i, x := range vals {
			out[i] = truthOf(x <= lit)
		}
	case opGreater:
		for i, x := range vals {
			out[i] = truthOf(x > lit)
		}
	default:
		for i, x := range vals {
			out[i] = truthOf(x >= lit)
		}
	}
}

// compareFloats treats NaN as the greatest value and -0.0 as 0.0.
func compareFloats[T float32 | float64](out []truth, vals []T, o op, lit T) {
	vals = vals[:len(out)]
	switch {
	case lit != lit || o == opNotEqual || o == opEqual:
		for i, x := range vals {
			out[i] = truthOf(o.holds(compareFloat(x, lit)))
		}
	case o == opLess:
		for i, x := range vals {
			out[i] = truthOf(x < lit)
		}
	case o == opLessEqual:
		for i, x := range vals {
			out[i] = truthOf(x <= lit)
		}
	case o == opGreater:
		for i, x := range vals {
			out[i] = truthOf(!(x <= lit))
		}
	default:
		for i, x := range vals {
			out[i] = truthOf(!(x < lit))
		}
	}
}

func compareFloat[T float32 | float64](x, y T) int {
	// cmp has NaN as the least.
	if xn, yn := x != x, y != y; xn || yn {
		switch {
		case xn && yn:
			return 0
		case xn:
			return 1
		}
		return -1
	}
	return cmp.Compare(x, y)
}

func compareBytes(out []truth, v *rowdata.Vector, o op, lit []byte) {
	if o == opEqual || o == opNotEqual {
		for i := range out {
			out[i] = truthOf(bytes.Equal(v.Bytes(i), lit) == (o == opEqual))
		}
		return
	}
	for i := range out {
		out[i] = truthOf(o.holds(bytes.Compare(v.Bytes(i), lit)))
	}
}

// compareValue orders two values as predicates see them.
func compareValue(a *rowdata.Vector, i int, b *rowdata.Vector, j int) int {
	switch a.Storage() {
	case rowdata.StoreF32:
		return compareFloat(a.F32[i], b.F32[j])
	case rowdata.StoreF64:
		return compareFloat(a.F64[i], b.F64[j])
	}
	return rowdata.Compare(a, i, b, j)
}
