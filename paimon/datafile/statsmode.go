package datafile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/paimon/rowdata"
)

// StatsKind says which statistics of a column stand in the manifest.
type StatsKind uint8

// The kinds of statistics (format section 5.5).
const (
	StatsTruncate StatsKind = iota // bounds cut to a length, and the NULL count
	StatsNone
	StatsCounts // the NULL count only
	StatsFull   // bounds and the NULL count
)

const (
	statsLengthDefault = 16
	statsLengthKey     = 128
)

// StatsMode is a value of the option metadata.stats-mode. The zero value is the
// default, truncate(16).
type StatsMode struct {
	Kind   StatsKind
	Length int // of truncated bounds, in characters; 0: 16
}

// String returns the text of the option.
func (m StatsMode) String() string {
	switch m.Kind {
	case StatsNone:
		return "none"
	case StatsCounts:
		return "counts"
	case StatsFull:
		return "full"
	}
	return fmt.Sprintf("truncate(%d)", m.length())
}

func (m StatsMode) length() int {
	if m.Length == 0 {
		return statsLengthDefault
	}
	return m.Length
}

// ParseStatsMode reads none, counts, full or truncate(n).
func ParseStatsMode(s string) (StatsMode, error) {
	switch text := strings.ToLower(strings.TrimSpace(s)); text {
	case "none":
		return StatsMode{Kind: StatsNone}, nil
	case "counts":
		return StatsMode{Kind: StatsCounts}, nil
	case "full":
		return StatsMode{Kind: StatsFull}, nil
	default:
		number, ok := strings.CutPrefix(text, "truncate(")
		number, closed := strings.CutSuffix(number, ")")
		if n, err := strconv.Atoi(number); ok && closed && err == nil && n > 0 {
			return StatsMode{Length: n}, nil
		}
	}
	return StatsMode{}, fmt.Errorf("statistics mode %q: want none, counts, full or truncate(n)", s)
}

// StatsModes says which statistics the columns of a file have. The zero value is
// the default of tables.
type StatsModes struct {
	Default StatsMode
	Columns map[string]StatsMode // of single columns, by name
	// Limited leaves out the statistics of columns after the first KeepFirst, but
	// for those in Columns.
	Limited   bool
	KeepFirst int
	// NotDense keeps a place in the rows of bounds for columns without statistics.
	NotDense bool
}

func (m StatsModes) equal(o StatsModes) bool {
	return m.Default == o.Default && maps.Equal(m.Columns, o.Columns) && m.Limited == o.Limited && m.KeepFirst == o.KeepFirst && m.NotDense == o.NotDense
}

// of returns the mode of each physical column. Parquet files have statistics of
// their own, and the original then cuts keys and system columns at 128
// characters and does not count them to KeepFirst; for Avro files it collects
// the values itself and treats all columns alike.
func (m StatsModes) of(l Layout, format string) []StatsMode {
	fields := l.Physical()
	modes := make([]StatsMode, len(fields))
	kept := 0
	for i := range fields {
		mode, named := m.Columns[fields[i].Name]
		switch {
		case named:
			modes[i] = mode
			kept++
		case format == FormatParquet && l.isKey(i):
			modes[i] = StatsMode{Length: statsLengthKey}
		case m.Limited && kept >= m.KeepFirst:
			modes[i] = StatsMode{Kind: StatsNone}
			kept++
		default:
			modes[i] = m.Default
			kept++
		}
	}
	return modes
}

// isKey tells whether the physical column is a system column, or in thin mode a
// key column.
func (l Layout) isKey(i int) bool {
	return i < l.values() || l.Thin && slices.Contains(l.Key, i-l.values())
}

// apply reduces what is known of a column to what its mode keeps. Binaries,
// nested columns and timestamps of nanoseconds never have bounds, and nested
// columns of Parquet files not even a count: so does the original.
func (m StatsMode) apply(s rowdata.ColumnStats, t *rowdata.Type, format string) rowdata.ColumnStats {
	nothing := rowdata.ColumnStats{Nulls: -1}
	switch {
	case m.Kind == StatsNone, t.IsNested() && format == FormatParquet, t.Root == rowdata.Blob:
		return nothing
	case m.Kind == StatsCounts, t.IsNested(), t.IsBinary(), t.Storage() == rowdata.StoreNanos:
		return rowdata.ColumnStats{Nulls: s.Nulls}
	case t.Root == rowdata.Float || t.Root == rowdata.Double:
		canonicalNaN(s.Min)
		canonicalNaN(s.Max)
	case m.Kind == StatsTruncate:
		return rowdata.TruncateStats(s, m.length())
	}
	return s
}
