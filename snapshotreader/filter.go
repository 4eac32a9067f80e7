package snapshotreader

import (
	"context"
	"fmt"
	"slices"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Filter selects rows of a scan. A compiled expression is one.
type Filter interface {
	// Columns names the columns that the filter looks at.
	Columns() []string
	// Select appends to dst the positions of the rows that pass. cols are the
	// Columns, each of n rows.
	Select(dst []int32, cols []*rowdata.Vector, n int) ([]int32, error)
	// Excludes tells that no row of a file can pass. stats are those of the
	// Columns, which the file has so many rows of; true must be certain.
	Excludes(stats []rowdata.ColumnStats, rows int64) bool
}

func filterColumns(f Filter) []string {
	if f == nil {
		return nil
	}
	return f.Columns()
}

// pruneGroup drops the files of a group that no row passes of, as far as dropping
// them cannot bring back an older version of a row (format section 15.1):
//
//   - of append tables, of a single file, and where no key is in two files, each
//     file by itself; likewise each file if the filter looks at the key only;
//   - else all files or none.
func pruneGroup(ctx context.Context, t *paimon.Table, g *group, s *paimon.Schema, levels Levels, f Filter) error {
	names := f.Columns()
	alone := !s.HasPrimaryKey() || len(g.files) == 1 || readsAlone(g.files, s, levels)
	if e := s.MergeEngine(); !alone && (e == paimon.Aggregation || e == paimon.PartialUpdate) && !isSubset(names, s.TrimmedPrimaryKeys()) {
		return nil // merging makes values that no file has
	}
	single := !s.HasPrimaryKey() || len(g.files) == 1 || readsAlone(g.files, s, levels) || isSubset(names, s.TrimmedPrimaryKeys())
	kept := make([]*manifest.Entry, 0, len(g.files))
	for _, e := range g.files {
		stats, err := fileStats(ctx, t, e, s, names)
		if err != nil {
			return err
		}
		if !f.Excludes(stats, e.File.RowCount) {
			kept = append(kept, e)
		}
	}
	if single || len(kept) == 0 {
		g.files = kept
	}
	return nil
}

// readsAlone tells whether each file may be pruned without a look at the others:
// deletion vectors or first-row have made its rows the only ones of their keys, or
// all files are on one level above 0.
func readsAlone(files []*manifest.Entry, s *paimon.Schema, levels Levels) bool {
	if levels == LevelsAboveZero && (s.DeletionVectors() || s.MergeEngine() == paimon.FirstRow) {
		return true
	}
	return !slices.ContainsFunc(files, func(e *manifest.Entry) bool {
		return e.File.Level == 0 || e.File.Level != files[0].File.Level
	})
}

func isSubset(names, of []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(of, n) })
}

// unknownStats is what is known of a column without statistics.
var unknownStats = rowdata.ColumnStats{Nulls: -1}

// fileStats returns the statistics of columns of the schema in a file that may be
// of an older one: found by field id, cast to the type of now (format section 5.5).
func fileStats(ctx context.Context, t *paimon.Table, e *manifest.Entry, s *paimon.Schema, names []string) ([]rowdata.ColumnStats, error) {
	fileSchema, err := t.SchemaByID(ctx, e.File.SchemaID)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", e.File.FileName, err)
	}
	covered, err := decodeStats(&e.File, fileSchema)
	if err != nil {
		return nil, fmt.Errorf("statistics of file %s: %w", e.File.FileName, err)
	}
	partition := t.DecodePartition(e.Partition)
	out := make([]rowdata.ColumnStats, len(names))
	for i, name := range names {
		if k := slices.Index(s.PartitionKeys, name); k >= 0 && k < len(partition) {
			out[i] = constantStats(partition[k], e.File.RowCount)
			continue
		}
		field := s.Fields[s.Index(name)]
		at := slices.IndexFunc(fileSchema.Fields, func(f rowdata.Field) bool { return f.ID == field.ID })
		if at < 0 {
			out[i] = rowdata.ColumnStats{Nulls: e.File.RowCount} // the file lacks the column: all NULL
			continue
		}
		st, ok := covered[fileSchema.Fields[at].Name]
		if !ok {
			out[i] = unknownStats
			continue
		}
		out[i] = castStats(st, field.Type)
	}
	return out, nil
}

// constantStats describes a column of n equal values.
func constantStats(v *rowdata.Vector, n int64) rowdata.ColumnStats {
	if v.IsNull(0) {
		return rowdata.ColumnStats{Nulls: n}
	}
	return rowdata.ColumnStats{Min: v, Max: v}
}

// decodeStats returns the statistics of a file by the names of its columns.
func decodeStats(f *manifest.DataFile, s *paimon.Schema) (map[string]rowdata.ColumnStats, error) {
	var names []string
	switch {
	case f.HasValueStatsCols:
		names = f.ValueStatsCols
	case f.HasWriteCols:
		names = f.WriteCols
	default:
		for i := range s.Fields {
			names = append(names, s.Fields[i].Name)
		}
	}
	stats := make(map[string]rowdata.ColumnStats, len(names))
	if len(names) == 0 || len(f.ValueStats.Min) == 0 {
		return stats, nil
	}
	mins, maxs := make([]*rowdata.Vector, len(names)), make([]*rowdata.Vector, len(names))
	for i, name := range names {
		at := s.Index(name)
		if at < 0 {
			return nil, fmt.Errorf("schema %d has no column %q", s.ID, name)
		}
		mins[i], maxs[i] = rowdata.NewVector(s.Fields[at].Type, 1), rowdata.NewVector(s.Fields[at].Type, 1)
	}
	if err := rowdata.DecodeManifestRow(f.ValueStats.Min, mins); err != nil {
		return nil, err
	}
	if err := rowdata.DecodeManifestRow(f.ValueStats.Max, maxs); err != nil {
		return nil, err
	}
	for i, name := range names {
		st := unknownStats
		if i < len(f.ValueStats.NullCounts) {
			st.Nulls = f.ValueStats.NullCounts[i]
		}
		if !mins[i].IsNull(0) && !maxs[i].IsNull(0) {
			st.Min, st.Max = mins[i], maxs[i]
		}
		stats[name] = st
	}
	return stats, nil
}

// castStats converts bounds to another type. Only widening keeps the order for
// certain; after any other cast bounds say nothing.
func castStats(st rowdata.ColumnStats, to *rowdata.Type) rowdata.ColumnStats {
	if st.Min == nil || st.Min.Type.EqualIgnoreNull(to) {
		return st
	}
	if !widens(st.Min.Type, to) {
		return rowdata.ColumnStats{Nulls: st.Nulls}
	}
	mins, maxs := rowdata.NewVector(to, 1), rowdata.NewVector(to, 1)
	if rowdata.Cast(mins, st.Min) != nil || rowdata.Cast(maxs, st.Max) != nil {
		return rowdata.ColumnStats{Nulls: st.Nulls}
	}
	return rowdata.ColumnStats{Min: mins, Max: maxs, Nulls: st.Nulls}
}

// widens tells whether every value of a type is one of the other, in the same
// order.
func widens(from, to *rowdata.Type) bool {
	switch {
	case from.Root >= rowdata.TinyInt && from.Root <= rowdata.BigInt:
		return to.Root >= from.Root && to.Root <= rowdata.BigInt
	case from.Root == rowdata.Float:
		return to.Root == rowdata.Double
	case from.Root == rowdata.Char || from.Root == rowdata.Varchar:
		return to.Root == rowdata.Varchar && to.Length >= from.Length
	case from.Root == rowdata.Binary || from.Root == rowdata.Varbinary:
		return to.Root == rowdata.Varbinary && to.Length >= from.Length
	case from.Root == rowdata.Decimal:
		return to.Root == rowdata.Decimal && to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case from.Root == rowdata.Timestamp || from.Root == rowdata.TimestampLTZ:
		return to.Root == from.Root && to.Precision >= from.Precision
	}
	return false
}
