package merge

import (
	"fmt"

	"sluice/paimon/rowdata"
)

// Function decides which record of a key stays. It is asked only about keys
// with two records or more, which it meets in merge order.
//
// This is enough for engines that keep one of the records as it stands. Engines
// that build a row of several (partial update, aggregation) need the values too
// and will be a second interface; the place for it is where [Iter] closes a
// group of records.
type Function interface {
	// Takes tells whether a record of that kind takes the place of the one
	// that stands for the key so far. With held false nothing stands yet: the
	// record is the first, or those before it were not taken.
	Takes(held bool, kind rowdata.RowKind) bool
}

// Deduplicate keeps the last record of a key, deletes included (semantics
// section 3.1).
type Deduplicate struct {
	// IgnoreDelete passes over -U and -D: the option ignore-delete, honoured
	// for files that were written before it was set. A key that has several
	// records and only such ones has no result.
	IgnoreDelete bool
}

// Takes implements [Function].
func (d Deduplicate) Takes(_ bool, kind rowdata.RowKind) bool {
	return !d.IgnoreDelete || kind.IsAdd()
}

// UnsupportedEngineError says that a merge engine is not built yet.
type UnsupportedEngineError struct {
	Engine string // as the option merge-engine names it
}

func (e *UnsupportedEngineError) Error() string {
	return fmt.Sprintf("merge engine %s is not supported yet: only deduplicate is", e.Engine)
}

// NewFunction returns the function of a merge engine by its name in the option
// merge-engine; the empty name is deduplicate, the default. The error is an
// [*UnsupportedEngineError].
func NewFunction(engine string, ignoreDelete bool) (Function, error) {
	switch engine {
	case "", "deduplicate":
		return Deduplicate{IgnoreDelete: ignoreDelete}, nil
	}
	return nil, &UnsupportedEngineError{Engine: engine}
}
