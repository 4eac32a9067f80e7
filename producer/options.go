package producer

import (
	"context"
	"errors"
	"fmt"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// Previous is the state above level 0 of a bucket.
type Previous interface {
	// Lookup finds the newest record above level 0 of keys given in ascending
	// key order: row rows[i] of b. It appends the hits to dst and sets found[i] to
	// their row in dst, or -1. Tombstones are hits.
	Lookup(ctx context.Context, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error
}

// Options say how the records of a table are resolved.
type Options struct {
	Engine merge.Engine
	// Order is that of the records of a key. Its fields are the table's sequence
	// fields.
	Order merge.Order
	// Key are the positions of the columns of the key.
	Key []int
	// Silent leaves out the changelog: tables that need the state before for
	// other reasons than producer lookup.
	Silent bool
	// RowDeduplicate leaves out pairs whose rows are equal (semantics section
	// 4.3): in all columns but those at the positions Ignore. NULL equals NULL;
	// floating-point numbers are compared as numbers, so that NaN differs from
	// itself.
	RowDeduplicate bool
	Ignore         []int
	// Expired tells which records of the state are too old to count
	// (record-level.expire-time); nil: none.
	Expired func(kv *rowdata.KeyValues, i int) bool
	// DeletionVectors says that a file with deletes is always rewritten.
	DeletionVectors bool
}

// errNotWanted says that the caller does not keep to what Wants answered.
var errNotWanted = errors.New("the changelog producer does not resolve this step")

// CorruptLevelError says that a key is on the highest level twice.
type CorruptLevelError struct {
	Level int32
}

func (e *CorruptLevelError) Error() string {
	return fmt.Sprintf("level %d holds a key twice: its files must not overlap", e.Level)
}
