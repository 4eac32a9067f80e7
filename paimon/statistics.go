package paimon

import (
	"bytes"
	"context"
	"fmt"
)

// Statistics is the content of a statistics file (format section 3.8): what an
// ANALYZE found. It is advice, never a fact to prune by.
type Statistics struct {
	SnapshotID        int64               `json:"snapshotId"`
	SchemaID          int64               `json:"schemaId"`
	MergedRecordCount *int64              `json:"mergedRecordCount,omitempty"`
	MergedRecordSize  *int64              `json:"mergedRecordSize,omitempty"` // bytes
	ColStats          map[string]ColStats `json:"colStats"`                   // by column name
}

// ColStats are the statistics of a column. Min and Max are values as text.
type ColStats struct {
	ColID         int     `json:"colId"`
	DistinctCount *int64  `json:"distinctCount,omitempty"`
	Min           *string `json:"min,omitempty"`
	Max           *string `json:"max,omitempty"`
	NullCount     *int64  `json:"nullCount,omitempty"`
	AvgLen        *int64  `json:"avgLen,omitempty"` // bytes
	MaxLen        *int64  `json:"maxLen,omitempty"` // bytes
}

// Marshal returns the content of the file.
func (s *Statistics) Marshal() ([]byte, error) {
	c := *s
	if c.ColStats == nil {
		c.ColStats = map[string]ColStats{}
	}
	return marshalIndented(c)
}

// ParseStatistics reads the content of a statistics file.
func ParseStatistics(data []byte) (*Statistics, error) {
	s := new(Statistics)
	if err := unmarshalOne(bytes.TrimSpace(data), s); err != nil {
		return nil, fmt.Errorf("statistics: %w: %w", ErrCorrupt, err)
	}
	return s, nil
}

// Statistics returns the statistics that a snapshot refers to, or nil if it
// refers to none.
func (t *Table) Statistics(ctx context.Context, s *Snapshot) (*Statistics, error) {
	if s.Statistics == nil || *s.Statistics == "" {
		return nil, nil
	}
	st, err := readParsed(ctx, t, t.StatisticsPath(*s.Statistics), ParseStatistics)
	if err != nil {
		return nil, fmt.Errorf("statistics of snapshot %d of table %s: %w", s.ID, t.Path, err)
	}
	return st, nil
}
