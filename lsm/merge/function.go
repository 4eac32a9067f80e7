package merge

import "sluice/paimon/rowdata"

// Verdict is what a [Function] says of a record.
type Verdict uint8

// The verdicts.
const (
	Pass   Verdict = iota // the record is passed over
	Take                  // it takes the place of the one that stands for the key
	Refuse                // the engine cannot take a record of this kind
)

// Function decides which record of a key stays, for engines that keep one of the
// records as it stands. A reducer asks it only about keys with two records or
// more, which it meets in merge order.
type Function interface {
	// Verdict says what becomes of a record of that kind. With held false
	// nothing stands yet: the record is the first, or those before it were not
	// taken.
	Verdict(held bool, kind rowdata.RowKind) Verdict
}

// Deduplicate keeps the last record of a key, deletes included (semantics
// section 3.1).
type Deduplicate struct {
	// IgnoreDelete passes over -U and -D: the option ignore-delete, honoured
	// for files that were written before it was set. A key that has several
	// records and only such ones has no result.
	IgnoreDelete bool
}

// Verdict implements [Function].
func (d Deduplicate) Verdict(_ bool, kind rowdata.RowKind) Verdict {
	if d.IgnoreDelete && kind.IsRetract() {
		return Pass
	}
	return Take
}

// FirstRow keeps the first record of a key and refuses retracts (semantics
// section 3.2). As with every engine a lone retract is not seen, and so passes a
// flush; it fails when it meets another record of its key.
type FirstRow struct {
	IgnoreDelete bool // passes over -U and -D instead of refusing them
}

// Verdict implements [Function].
func (f FirstRow) Verdict(held bool, kind rowdata.RowKind) Verdict {
	switch {
	case kind.IsRetract() && f.IgnoreDelete:
		return Pass
	case kind.IsRetract():
		return Refuse
	case held:
		return Pass
	}
	return Take
}
