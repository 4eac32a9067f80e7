package datafile

import (
	"math"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// emptyStats are the key statistics of append tables.
func emptyStats() manifest.Stats {
	return manifest.Stats{Min: rowdata.EmptyManifestRow(), Max: rowdata.EmptyManifestRow(), NullCounts: []int64{}}
}

// statsRow builds the statistics of some columns.
type statsRow struct {
	min, max []*rowdata.Vector
	nulls    []int64
}

// add appends the statistics of a column. What is not known is NULL, even where
// the column has none.
func (r *statsRow) add(t *rowdata.Type, s rowdata.ColumnStats) {
	r.min, r.max = append(r.min, orNull(t, s.Min)), append(r.max, orNull(t, s.Max))
	r.nulls = append(r.nulls, s.Nulls)
}

func orNull(t *rowdata.Type, v *rowdata.Vector) *rowdata.Vector {
	if v == nil {
		v = rowdata.NewVector(t.Nullable(), 1)
		v.AppendNull()
	}
	return v
}

// canonicalNaN gives a bound that is NaN the bits that Java writes.
func canonicalNaN(v *rowdata.Vector) {
	if v == nil {
		return
	}
	for i, x := range v.F64 {
		if x != x {
			v.F64[i] = math.Float64frombits(0x7ff8 << 48)
		}
	}
	for i, x := range v.F32 {
		if x != x {
			v.F32[i] = math.Float32frombits(0x7fc0 << 16)
		}
	}
}

func (r *statsRow) stats() manifest.Stats {
	if len(r.nulls) == 0 {
		return emptyStats()
	}
	return manifest.Stats{Min: rowdata.AppendManifestRow(nil, r.min, 0), Max: rowdata.AppendManifestRow(nil, r.max, 0), NullCounts: r.nulls}
}
