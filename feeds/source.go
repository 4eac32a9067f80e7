package feeds

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/paimon/rowdata"
)

// Table is what a feed reads.
type Table interface {
	// Open fixes a position and reads from there on. It returns
	// [*CursorExpiredError], [*CursorMismatchError], [*CursorAheadError],
	// [*UnsupportedError] or [*NotFoundError] (also for a tag).
	Open(ctx context.Context, s Start, o SourceOptions) (Source, error)
	// Status tells what can be read now.
	Status(ctx context.Context) (Status, error)
}

// SourceOptions bounds the batches of a [Source].
type SourceOptions struct {
	BatchRows  int // most rows in a batch
	BatchBytes int // about the most bytes in a batch, unless one row is larger
}

// Status is the state of a table.
type Status struct {
	Latest     int64     // newest snapshot, 0: none
	Earliest   int64     // oldest snapshot whose changes can be read, 0: none
	LatestTime time.Time // when the newest one was committed
	Schema     *Schema   // newest schema
	Table      string    // name of the table, DATABASE.TABLE; may be empty
}

// Source reads a table's stream from a position. It is used by one goroutine at
// a time, but for Poke.
type Source interface {
	// Next returns the next batch, which then belongs to the caller. It blocks
	// until there is one. Every error but one of ctx ends the source.
	Next(ctx context.Context) (*Batch, error)
	// Cursor is the position that the next batch begins at.
	Cursor() Cursor
	// Schema is the schema of the next batch, as far as is known.
	Schema() *Schema
	// Poke hints that a snapshot was committed. It may be called from anywhere,
	// also after Close.
	Poke()
	Close() error
}

// Batch is consecutive rows of one snapshot, partition and bucket. Without rows,
// it is a snapshot that changes none if both First and Last are set; the begin of
// one whose rows follow if First is; the end of one if Last is; or a step.
type Batch struct {
	Commit    *Commit
	Schema    *Schema
	Partition string // as "day=2026-11-29/hour=7/", empty without partitions
	Bucket    int32
	Rows      rowdata.Changes
	At        Cursor // names row 0; row i is named by At.After(i)
	Next      Cursor // position after the batch
	First     bool   // no rows of the snapshot come before
	Last      bool   // no rows of the snapshot come after
}

// Commit describes the snapshot that rows come from. It is immutable and shared.
type Commit struct {
	Snapshot   int64
	Time       time.Time
	Kind       string // APPEND, COMPACT, OVERWRITE, ANALYZE
	Phase      Phase
	User       string
	Identifier int64
	Watermark  *int64 // milliseconds since 1970
}

// Schema is a version of a table's columns. It is immutable and shared, and must
// not be copied.
type Schema struct {
	ID           int64
	Row          *rowdata.RowType
	PrimaryKey   []string
	PartitionKey []string

	json atomic.Pointer[rowdata.JSONEncoder] // made on first demand
}

// JSON returns the encoder of the schema's rows as JSON objects.
func (s *Schema) JSON() *rowdata.JSONEncoder {
	e := s.json.Load()
	if e == nil {
		e = rowdata.NewJSONEncoder(s.Row.Fields)
		s.json.Store(e)
	}
	return e
}

// Tables describes the tables of a warehouse to transports.
type Tables interface {
	// ListTables returns the names, DATABASE.TABLE, in order; of one database if
	// one is named.
	ListTables(ctx context.Context, database string) ([]string, error)
	// Table describes a table. It returns a [*NotFoundError].
	Table(ctx context.Context, name string) (*TableInfo, error)
	// Schema returns a schema of a table, the newest for id -1. It returns a
	// [*NotFoundError].
	Schema(ctx context.Context, table string, id int64) (*Schema, error)
}

// TableInfo describes a table.
type TableInfo struct {
	Name         string // DATABASE.TABLE
	Status       Status
	Options      map[string]string
	Comment      string
	TotalRecords int64 // rows of the files of the newest snapshot
}
