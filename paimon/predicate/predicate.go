package predicate

import (
	"encoding/hex"
	"slices"
	"strings"

	"sluice/paimon/rowdata"
)

// Predicate is a condition on rows of one row type. It is immutable and may be
// shared.
type Predicate struct {
	root *node
	cols []int
}

func newPredicate(root *node) *Predicate {
	p := &Predicate{root: root}
	root.walk(func(n *node) {
		if n.col >= 0 {
			p.cols = append(p.cols, n.col)
		}
	})
	slices.Sort(p.cols)
	p.cols = slices.Compact(p.cols)
	return p
}

func (n *node) walk(f func(*node)) {
	f(n)
	for _, k := range n.kids {
		k.walk(f)
	}
}

// Columns returns the positions of the columns that it looks at, ascending. The
// caller does not change them.
func (p *Predicate) Columns() []int { return p.cols }

// Remap returns the predicate for batches in which the column at position col of
// the row type is at position at(col).
func (p *Predicate) Remap(at func(col int) int) *Predicate { return newPredicate(p.root.remap(at)) }

func (n *node) remap(at func(col int) int) *node {
	out := *n
	if n.col >= 0 {
		out.col = at(n.col)
	}
	out.kids = nil
	for _, k := range n.kids {
		out.kids = append(out.kids, k.remap(at))
	}
	return &out
}

// Match tells whether row i matches. It is for single rows; use an [Evaluator]
// for batches.
func (p *Predicate) Match(b *rowdata.Batch, i int) bool { return p.root.truthAt(b, i) == isTrue }

// truthAt evaluates a single row.
func (n *node) truthAt(b *rowdata.Batch, i int) truth {
	switch n.kind {
	case nodeAnd, nodeOr:
		out := n.kids[0].truthAt(b, i)
		for _, k := range n.kids[1:] {
			if n.kind == nodeAnd {
				out = min(out, k.truthAt(b, i))
			} else {
				out = max(out, k.truthAt(b, i))
			}
		}
		return out
	case nodeConst:
		return n.truth
	}
	v := b.Cols[n.col]
	switch {
	case n.kind == nodeNull:
		return truthOf(v.IsNull(i) != n.not)
	case v.IsNull(i):
		return isUnknown
	}
	out := n.truth
	switch n.kind {
	case nodeCompare:
		return truthOf(n.op.holds(compareValue(v, i, n.values, 0)))
	case nodeIn:
		if out = truthOf(n.set.has(v, i)); n.unsure {
			out = max(out, isUnknown)
		}
	case nodeLike:
		out = truthOf(n.like.match(v.Bytes(i)))
	}
	if n.not {
		out = isTrue - out
	}
	return out
}

// String returns a text that [Parse] reads as the same predicate.
func (p *Predicate) String() string {
	var b strings.Builder
	p.root.text(&b)
	return b.String()
}

func (n *node) text(b *strings.Builder) {
	switch n.kind {
	case nodeAnd, nodeOr:
		for i, k := range n.kids {
			if i > 0 {
				b.WriteString([]string{" AND ", " OR "}[n.kind])
			}
			nested := k.kind == nodeAnd || k.kind == nodeOr || k.kind == nodeValid
			if nested {
				b.WriteByte('(')
			}
			k.text(b)
			if nested {
				b.WriteByte(')')
			}
		}
		return
	case nodeConst:
		b.WriteString([]string{"FALSE", "NULL", "TRUE"}[n.truth])
		return
	}
	name := "`" + strings.ReplaceAll(n.name, "`", "``") + "`"
	not := ""
	if n.not {
		not = "NOT "
	}
	switch n.kind {
	case nodeNull:
		b.WriteString(name + " IS " + not + "NULL")
	case nodeValid:
		// There is no value to name: unknown where it is NULL, else the truth.
		if n.truth == isTrue {
			b.WriteString(name + " IS NOT NULL OR NULL")
		} else {
			b.WriteString(name + " IS NULL AND NULL")
		}
	case nodeCompare:
		b.WriteString(name + " " + opText[n.op] + " " + renderLiteral(n.values, 0))
	case nodeLike:
		b.WriteString(name + " " + not + n.like.String())
	case nodeIn:
		var list []string
		for i := range n.values.Len() {
			list = append(list, renderLiteral(n.values, i))
		}
		if n.unsure {
			list = append(list, "NULL")
		}
		b.WriteString(name + " " + not + "IN (" + strings.Join(list, ", ") + ")")
	}
}

// renderLiteral renders a value as a literal.
func renderLiteral(v *rowdata.Vector, i int) string {
	text := string(rowdata.AppendText(nil, v, i))
	switch v.Type.Root {
	case rowdata.Binary, rowdata.Varbinary, rowdata.Blob:
		return "X'" + hex.EncodeToString(v.Bytes(i)) + "'"
	case rowdata.Date:
		return "DATE '" + text + "'"
	case rowdata.Time:
		return "TIME '" + text + "'"
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		full := rowdata.NewVector(&rowdata.Type{Root: rowdata.Timestamp, Precision: 9}, 1)
		full.AppendTimestamp(v.TimestampAt(i))
		return "TIMESTAMP '" + string(rowdata.AppendText(nil, full, 0)) + "'"
	case rowdata.Char, rowdata.Varchar:
		return quote(text)
	case rowdata.Float, rowdata.Double:
		if strings.HasSuffix(text, "NaN") || strings.HasSuffix(text, "Infinity") {
			return quote(text)
		}
	}
	return text
}
