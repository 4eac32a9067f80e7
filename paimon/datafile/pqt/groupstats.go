package pqt

import (
	"encoding/binary"
	"math"
	"strings"

	"sluice/paimon/rowdata"
)

// describe returns what the footer says of a row group.
func (r *Reader) describe(g *rowGroup) RowGroup {
	d := RowGroup{FirstRow: r.row, Rows: g.numRows, Stats: make([]rowdata.ColumnStats, len(r.nodes))}
	leaf := make(map[*leafReader]int, len(r.leaves))
	for i, l := range r.leaves {
		leaf[l] = r.index[i]
	}
	for i, n := range r.nodes {
		s := &d.Stats[i]
		switch {
		case n.missing:
			s.Nulls = g.numRows
		case n.leaf == nil || !n.leaf.flat:
			s.Nulls = -1
		default:
			c := &g.columns[leaf[n.leaf]]
			s.Nulls = c.stats.nulls
			if s.Nulls > g.numRows {
				s.Nulls = -1
			}
			s.Min, s.Max = r.chunkBounds(n, c)
		}
	}
	return d
}

// chunkBounds decodes the minimum and maximum of a column chunk, nil if they are
// not there or not to be relied on.
func (r *Reader) chunkBounds(n *readNode, c *columnChunk) (lo, hi *rowdata.Vector) {
	if c.stats.min == nil || c.stats.max == nil || n.leaf.conv == convInt96 {
		return nil, nil
	}
	// parquet-go orders decimals in bytes as if they had no sign.
	if (n.leaf.conv == convDecFixed || n.leaf.conv == convDecBytes) && strings.Contains(r.meta.createdBy, "parquet-go") {
		return nil, nil
	}
	lo, hi = n.leaf.scalar(n.typ, c.stats.min), n.leaf.scalar(n.typ, c.stats.max)
	if lo == nil || hi == nil {
		return nil, nil
	}
	// A zero stands for both zeros, and NaN for nothing.
	switch n.typ.Root {
	case rowdata.Float:
		if lo.F32[0] != lo.F32[0] || hi.F32[0] != hi.F32[0] {
			return nil, nil
		}
		if lo.F32[0] == 0 {
			lo.F32[0] = float32(math.Copysign(0, -1))
		}
		if hi.F32[0] == 0 {
			hi.F32[0] = 0
		}
	case rowdata.Double:
		if lo.F64[0] != lo.F64[0] || hi.F64[0] != hi.F64[0] {
			return nil, nil
		}
		if lo.F64[0] == 0 {
			lo.F64[0] = math.Copysign(0, -1)
		}
		if hi.F64[0] == 0 {
			hi.F64[0] = 0
		}
	}
	return lo, hi
}

// scalar decodes a value as statistics have it, nil if it is malformed.
func (l *leafReader) scalar(t *rowdata.Type, b []byte) *rowdata.Vector {
	one := leafReader{phys: l.phys, typeLen: l.typeLen, conv: l.conv, unit: l.unit}
	one.values.phys, one.values.width, one.values.enc = l.phys, l.values.width, encPlain
	if l.phys == physByteArray {
		b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	} else if want := max(l.values.width, 1); len(b) != want {
		return nil
	}
	one.values.buf = b
	v := rowdata.NewVector(t.Nullable(), 1)
	if one.appendTo(v, 1) != nil {
		return nil
	}
	v.SetLen(1)
	return v
}
