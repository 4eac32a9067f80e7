// Package producer decides which steps of a table's life make changelog.
//
// A producer is a pure decision over the facts of a step, a [merge.Plan]; it
// opens nothing and keeps nothing. [None] makes no changelog: readers follow the
// level-0 files themselves. [Input] has every record copied as it came when a
// write buffer is flushed (semantics sections 4.1 and 4.2). The producers that
// compute changes from the state before, lookup and full-compaction, work when
// files are merged; they will be asked about those steps through the same
// interface and are refused by name until they are built.
package producer

import (
	"fmt"

	"sluice/lsm/merge"
)

// Producer is a changelog producer.
type Producer interface {
	// Wants tells whether the step must write changelog.
	Wants(p merge.Plan) bool
}

// None makes no changelog.
type None struct{}

// Wants implements [Producer].
func (None) Wants(merge.Plan) bool { return false }

// Input copies every record to the changelog when it is flushed: all kinds,
// duplicates included, in the order of the buffer.
type Input struct{}

// Wants implements [Producer].
func (Input) Wants(p merge.Plan) bool { return p.Flush }

// UnsupportedError says that a changelog producer is not built yet.
type UnsupportedError struct {
	Producer string // as the option changelog-producer names it
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("changelog producer %s is not supported yet: use none or input, or set write-only=true and leave the changelog to a compaction job", e.Producer)
}

// New returns the producer of that name in the option changelog-producer; the
// empty name is none, the default. A table that is write-only leaves the
// changelog of lookup and full-compaction to a compaction job, so that its
// writer has none to make (semantics section 1.8). Otherwise they are an
// [*UnsupportedError].
func New(name string, writeOnly bool) (Producer, error) {
	switch name {
	case "", "none":
		return None{}, nil
	case "input":
		return Input{}, nil
	case "lookup", "full-compaction":
		if writeOnly {
			return None{}, nil
		}
	}
	return nil, &UnsupportedError{Producer: name}
}
