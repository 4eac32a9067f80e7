package merge

import (
	"errors"

	"sluice/paimon/rowdata"
)

// Engine is how the records of a key become one: a table's merge engine. At most
// one of its fields is set; with none nothing is folded and every record comes
// out.
type Engine struct {
	// Name is that of the option merge-engine, for errors.
	Name string
	// Keep is set for engines that keep one record as it stands: deduplicate and
	// first-row.
	Keep Function
	// Build is set for engines that build a row of several: partial-update and
	// aggregation. It makes a folder for one goroutine.
	Build func() Folder
	// Shadows is set for tables whose compactions look up what they replace: a
	// record above level 0 then has been merged with those on higher levels, so
	// that of several such records only the one on the lowest level counts, and
	// stands as it is if no record of level 0 joins it. It concerns sources that are a [LeveledSource]; records of others are of no
	// file yet.
	Shadows bool
}

// Folds tells whether the engine folds records at all.
func (e Engine) Folds() bool { return e.Keep != nil || e.Build != nil }

// Folder builds the row of a key from its records, one after the other. It keeps
// its memory from key to key and belongs to one goroutine. After an error of Add
// or Result the next call is Begin.
type Folder interface {
	// Begin forgets the last key.
	Begin()
	// Add takes the next record of the key in merge order: row i of kv, which
	// is only valid during the call.
	Add(kv *rowdata.KeyValues, i int) error
	// Result appends the record that stands for the key to dst: kind, sequence
	// number and columns. With ok false nothing stands for it and nothing was
	// appended.
	Result(dst *rowdata.KeyValues) (ok bool, err error)
}

// Lender is a Folder that need not copy a record at once.
type Lender interface {
	Folder
	// AddLent is Add of a record that stays as it is until Result has returned.
	AddLent(kv *rowdata.KeyValues, i int) error
}

// AddLent gives a record that stays as it is until Result has returned to a folder of
// whatever kind.
func AddLent(f Folder, kv *rowdata.KeyValues, i int) error {
	if l, ok := f.(Lender); ok {
		return l.AddLent(kv, i)
	}
	return f.Add(kv, i)
}

// RefusedKindError says that an engine cannot take a record of this kind.
type RefusedKindError struct {
	Engine string
	Kind   rowdata.RowKind
	Remedy string // options that would allow it
}

func (e *RefusedKindError) Error() string {
	return "merge engine " + e.Engine + " does not accept " + e.Kind.String() + " records: " + e.Remedy
}

// Refusal returns the error for a record whose verdict is [Refuse].
func (e Engine) Refusal(kind rowdata.RowKind) error {
	return &RefusedKindError{Engine: e.Name, Kind: kind, Remedy: "set ignore-delete=true to ignore them"}
}

// KeyError says which key could not be merged.
type KeyError struct {
	Key string // the key columns as a JSON list, cut if long
	Err error
}

func (e *KeyError) Error() string { return "merge of key " + e.Key + ": " + e.Err.Error() }

// Unwrap returns what went wrong.
func (e *KeyError) Unwrap() error { return e.Err }

// keyTextBytes bounds the text of a key in an error.
const keyTextBytes = 256

// AtKey adds the key of row i of b to an error that has none yet.
func AtKey(err error, b *rowdata.Batch, key []int, i int) error {
	var have *KeyError
	if err == nil || errors.As(err, &have) {
		return err
	}
	text := rowdata.AppendJSONArray(nil, &rowdata.Batch{Type: b.Type.Project(key), Cols: project(b.Cols, key), N: b.N}, i)
	if len(text) > keyTextBytes {
		text = append(text[:keyTextBytes], "..."...)
	}
	return &KeyError{Key: string(text), Err: err}
}

func project(cols []*rowdata.Vector, at []int) []*rowdata.Vector {
	out := make([]*rowdata.Vector, len(at))
	for k, c := range at {
		out[k] = cols[c]
	}
	return out
}
