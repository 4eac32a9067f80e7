package client

import (
	"time"

	sluicev1 "sluice/proto/sluice/v1"
)

// EventKind is the kind of a step in a feed.
type EventKind uint8

// The kinds of events.
const (
	EventSubscribed   EventKind = iota + 1 // the position is fixed: no row is lost from now on
	EventSchemaChange                      // before the first commit with another schema
	EventCommitBegin                       // before the rows of a snapshot
	EventRows                              // rows of it
	EventCommitEnd                         // after the rows of it
	EventProgress                          // nothing to read
	EventComplete                          // the end that was asked for; io.EOF comes next
)

// Event is a step of a feed.
type Event struct {
	Kind   EventKind
	Cursor string  // position after the event
	Schema *Schema // subscribed, schema change
	Commit *Commit // commit begin, rows, commit end
	Rows   *Rows   // rows
	Counts Counts  // commit end: rows since the begin
	Head   int64   // subscribed, progress: newest snapshot, 0: none
	Oldest int64   // subscribed, progress: oldest snapshot whose changes can be read, 0: none
}

// Counts is a number of rows by [Kind].
type Counts [4]uint64

// Commit describes a snapshot.
type Commit struct {
	Snapshot   int64
	Time       time.Time // when it was committed, by the clock of the writer
	Kind       string    // APPEND, COMPACT, OVERWRITE or ANALYZE; empty if not known here
	SchemaID   int64
	Image      bool // rows are the table's state, not changes
	Continued  bool // the subscription began inside the commit
	User       string
	Identifier int64
	Watermark  *int64 // milliseconds since 1970
}

func commitOf(m *sluicev1.CommitBegin) *Commit {
	c := &Commit{
		Snapshot: m.GetSnapshot(), SchemaID: m.GetSchemaId(), Image: m.GetPhase() == sluicev1.Phase_PHASE_IMAGE, Continued: m.GetContinued(),
		User: m.GetCommitUser(), Identifier: m.GetCommitIdentifier(), Watermark: m.WatermarkMillis,
	}
	switch m.GetKind() {
	case sluicev1.CommitKind_COMMIT_KIND_APPEND:
		c.Kind = "APPEND"
	case sluicev1.CommitKind_COMMIT_KIND_COMPACT:
		c.Kind = "COMPACT"
	case sluicev1.CommitKind_COMMIT_KIND_OVERWRITE:
		c.Kind = "OVERWRITE"
	case sluicev1.CommitKind_COMMIT_KIND_ANALYZE:
		c.Kind = "ANALYZE"
	}
	if t := m.GetTime(); t != nil {
		c.Time = t.AsTime()
	}
	return c
}

// Change is one row of a feed.
type Change struct {
	Rows   *Rows
	Index  int // of the row in Rows
	Commit *Commit
}

// Kind says what the change does.
func (c Change) Kind() Kind { return c.Rows.Kind(c.Index) }

// Cursor returns the position of the change: subscribing there gives it again.
func (c Change) Cursor() string { return c.Rows.Cursor(c.Index) }

// Next returns the position after the change: subscribing there gives what
// follows.
func (c Change) Next() string { return c.Rows.Cursor(c.Index + 1) }

// JSON returns the row as JSON text if the subscription asked for JSON.
func (c Change) JSON() []byte { return c.Rows.JSON(c.Index) }

// Value returns a column of the row as a Go value, as [Column.Value] does.
func (c Change) Value(column int) any { return c.Rows.Column(column).Value(c.Index) }
