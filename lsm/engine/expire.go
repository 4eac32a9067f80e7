package engine

import (
	"time"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// Expiry says which records are too old to be kept: the options
// record-level.expire-time and record-level.time-field. Compactions leave such
// records out before they merge what they read; readers and flushes do not look.
type Expiry struct {
	column  int
	root    rowdata.TypeRoot
	seconds int64
}

// ExpiryOf returns the rule of a table, or nil if it has none.
func ExpiryOf(s *paimon.Schema) (*Expiry, error) {
	if !s.Options.Has(paimon.OptRecordLevelExpireTime) {
		return nil, nil
	}
	after, err := s.Options.Duration(paimon.OptRecordLevelExpireTime)
	if err != nil {
		return nil, err
	}
	name := s.Options.Text(paimon.OptRecordLevelTimeField)
	i := s.Index(name)
	if i < 0 {
		return nil, &paimon.ValidationError{Option: paimon.OptRecordLevelTimeField, Reason: "Can not find time field " + name + " for record level expire."}
	}
	switch root := s.Fields[i].Type.Root; root {
	case rowdata.Int, rowdata.BigInt, rowdata.Timestamp, rowdata.TimestampLTZ:
		return &Expiry{column: i, root: root, seconds: int64(after / time.Second)}, nil
	}
	return nil, &paimon.ValidationError{
		Option: paimon.OptRecordLevelTimeField,
		Reason: "The record level time field type should be one of INT, BIGINT, or TIMESTAMP, but field type is " + s.Fields[i].Type.String() + ".",
	}
}

// Before returns the test for records at a time: whether record i, with all columns
// of the table, is too old. One whose time is NULL never is.
func (e *Expiry) Before(now time.Time) func(kv *rowdata.KeyValues, i int) bool {
	limit := now.Unix() - e.seconds
	return func(kv *rowdata.KeyValues, i int) bool {
		at, ok := e.secondsOf(kv.Cols[e.column], i)
		return ok && at < limit
	}
}

// Column returns the position of the time column, for its statistics.
func (e *Expiry) Column() int { return e.column }

// HasBefore tells whether a file whose least time is row i of a vector has records
// that are too old at a time; a least time that is NULL does not tell so.
func (e *Expiry) HasBefore(now time.Time, least *rowdata.Vector, i int) bool {
	at, ok := e.secondsOf(least, i)
	return ok && at < now.Unix()-e.seconds
}

// millisFrom is the number from which a BIGINT is taken for milliseconds.
const millisFrom = 1_000_000_000_000

// secondsOf returns the time of a row in seconds of the epoch.
func (e *Expiry) secondsOf(v *rowdata.Vector, i int) (int64, bool) {
	if v.IsNull(i) {
		return 0, false
	}
	switch e.root {
	case rowdata.Int:
		return int64(v.I32[i]), true
	case rowdata.BigInt:
		if x := v.I64[i]; x >= millisFrom {
			return x / 1000, true
		}
		return v.I64[i], true
	}
	millis, _ := v.TimestampAt(i)
	return millis / 1000, true
}
