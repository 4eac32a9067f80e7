package predicate

import (
	"bytes"

	"sluice/paimon/rowdata"
)

// MayMatch tells whether any of rows rows may match, given what is known about
// each column: false means that none does. Bounds may be any values that enclose
// the column's (format section 5.5); they are of the column's type, after a
// schema change too, or they are not used. rows is -1 if it is not known.
//
// A column of floats may hold NaN beyond its Max, as some writers leave NaN out
// of statistics.
func (p *Predicate) MayMatch(stats func(col int) rowdata.ColumnStats, rows int64) bool {
	return rows != 0 && p.root.mayMatch(stats, rows)
}

func (n *node) mayMatch(stats func(col int) rowdata.ColumnStats, rows int64) bool {
	switch n.kind {
	case nodeAnd:
		for _, k := range n.kids {
			if !k.mayMatch(stats, rows) {
				return false
			}
		}
		return true
	case nodeOr:
		for _, k := range n.kids {
			if k.mayMatch(stats, rows) {
				return true
			}
		}
		return false
	case nodeConst:
		return n.truth == isTrue
	}
	s := stats(n.col)
	allNull := rows >= 0 && s.Nulls >= rows
	if n.kind == nodeNull {
		if n.not {
			return !allNull
		}
		return s.Nulls != 0
	}
	if allNull {
		return false
	}
	switch n.kind {
	case nodeValid:
		return n.truth == isTrue
	case nodeIn:
		if n.not && n.unsure {
			return false
		}
	}
	if !usable(s.Min, n.typ) || !usable(s.Max, n.typ) {
		return true
	}
	return n.mayMatchBetween(s.Min, s.Max)
}

// usable tells whether a bound is known and of the type.
func usable(v *rowdata.Vector, t *rowdata.Type) bool {
	return v != nil && v.Len() == 1 && !v.IsNull(0) &&
		v.Type.Root == t.Root && v.Type.Precision == t.Precision && v.Type.Scale == t.Scale
}

// mayMatchBetween decides for a leaf over values between low and high.
func (n *node) mayMatchBetween(low, high *rowdata.Vector) bool {
	float := n.typ.Root == rowdata.Float || n.typ.Root == rowdata.Double
	single := !float && compareValue(low, 0, high, 0) == 0
	switch n.kind {
	case nodeCompare:
		l, h := compareValue(low, 0, n.values, 0), compareValue(high, 0, n.values, 0)
		switch n.op {
		case opEqual:
			return l <= 0 && (h >= 0 || float && isNaN(n.values))
		case opNotEqual:
			return !single || l != 0
		case opLess:
			return l < 0
		case opLessEqual:
			return l <= 0
		case opGreater:
			return h > 0 || float
		}
		return h >= 0 || float
	case nodeIn:
		if n.not {
			return !single || !n.set.has(low, 0)
		}
		k := n.set.search(low, 0)
		if k == n.values.Len() {
			return false
		}
		return compareValue(n.values, k, high, 0) <= 0 || float && isNaN(n.values.Slice(n.values.Len()-1))
	}
	if n.not {
		return !single || !n.like.match(low.Bytes(0))
	}
	if single {
		return n.like.match(low.Bytes(0))
	}
	prefix := n.like.prefix()
	return bytes.Compare(high.Bytes(0), prefix) >= 0 &&
		(bytes.Compare(low.Bytes(0), prefix) <= 0 || bytes.HasPrefix(low.Bytes(0), prefix))
}

func isNaN(v *rowdata.Vector) bool {
	if v.Storage() == rowdata.StoreF32 {
		return v.F32[0] != v.F32[0]
	}
	return v.F64[0] != v.F64[0]
}
