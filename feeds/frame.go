package feeds

import (
	"sync"
	"time"

	"sluice/paimon/rowdata"
)

// FrameKind is the kind of a step in a feed.
type FrameKind uint8

// The kinds of frames, in the order in which a subscription meets them.
const (
	FrameSubscribed   FrameKind = iota + 1 // the position is fixed
	FrameSchemaChange                      // before the first commit with another schema
	FrameCommitBegin                       // before the rows of a snapshot
	FrameRows                              // rows of it
	FrameCommitEnd                         // after the rows of it
	FrameProgress                          // nothing to read
	FrameComplete                          // the end that was asked for
	FrameReconnect                         // the gateway is about to stop

	frameStep // moves the position over something without rows; never delivered
)

// Counts is a number of rows of each kind, by [rowdata.RowKind].
type Counts [4]uint64

// Total returns the number of rows of all kinds.
func (c Counts) Total() uint64 { return c[0] + c[1] + c[2] + c[3] }

// Frame is a step of a feed. It is immutable and shared by all subscriptions;
// which fields are set depends on the kind.
type Frame struct {
	Kind FrameKind
	At   Cursor // position before the frame; of rows, names row 0
	Next Cursor // position after the frame

	Commit    *Commit          // commit begin, rows, commit end
	Schema    *Schema          // subscribed, schema change, commit begin, rows: all columns of the table
	Partition string           // rows
	Bucket    int32            // rows
	Rows      *rowdata.Changes // rows; nil once only their bytes are kept, which is never so for a view without an encoder
	Counts    Counts           // rows: of the frame; commit end: since the commit's begin

	Continued      bool          // commit begin: rows came before which are left out
	Feed           string        // subscribed
	PreviousSchema int64         // schema change
	Head, Oldest   int64         // subscribed, progress: snapshots of the table, 0: none
	Time           time.Time     // progress: the gateway's clock
	Spread         time.Duration // reconnect: wait for a random part of it

	seq    uint64 // place in the window's stream
	before uint64 // decoded bytes of the frames before it in the window's stream

	rows int // number of rows

	mu   sync.Mutex
	size int         // bytes held, encodings included; guarded by the feed's lock
	encs []*encoding // one a view; guarded by mu
}

// frameOverhead is about what a frame takes beside its rows.
const frameOverhead = 320

// n returns the number of rows.
func (f *Frame) n() int { return f.rows }

// rowBytes is what the rows of a frame take.
func rowBytes(c *rowdata.Changes) int { return c.MemSize() + len(c.Kinds) }

// framesOf turns a batch into frames and appends them to dst. counts has the rows
// of the batch's commit so far, and is brought up to date.
func framesOf(dst []*Frame, b *Batch, counts *Counts) []*Frame {
	if b.Rows.N == 0 && b.First == b.Last {
		return append(dst, &Frame{Kind: frameStep, At: b.At, Next: b.Next, Commit: b.Commit, Schema: b.Schema, size: frameOverhead})
	}
	if b.First {
		*counts = Counts{}
		begin := &Frame{Kind: FrameCommitBegin, At: b.At, Next: b.At, Commit: b.Commit, Schema: b.Schema, size: frameOverhead}
		if dst = append(dst, begin); b.Rows.N == 0 { // rows come with the next batch
			begin.Next = b.Next
			return dst
		}
	}
	end := b.Next
	if b.Rows.N > 0 {
		if b.Last {
			end = b.At.After(b.Rows.N)
		}
		f := &Frame{Kind: FrameRows, At: b.At, Next: end, Commit: b.Commit, Schema: b.Schema, Partition: b.Partition, Bucket: b.Bucket, Rows: &b.Rows, rows: b.Rows.N}
		f.Counts = countKinds(&b.Rows, 0, b.Rows.N)
		f.size = frameOverhead + rowBytes(&b.Rows)
		for k, n := range f.Counts {
			counts[k] += n
		}
		dst = append(dst, f)
	} else {
		end = b.At // the subscription began behind the last row
	}
	if b.Last {
		dst = append(dst, &Frame{Kind: FrameCommitEnd, At: end, Next: b.Next, Commit: b.Commit, Schema: b.Schema, Counts: *counts, size: frameOverhead})
	}
	return dst
}

// countKinds counts rows from..to of each kind.
func countKinds(c *rowdata.Changes, from, to int) (n Counts) {
	if c.Kinds == nil {
		n[rowdata.Insert] = uint64(to - from)
		return n
	}
	for _, k := range c.Kinds[from:to] {
		n[k&3]++
	}
	return n
}

// Delivery is what a subscription gives to its transport: a frame, or some of
// the rows of one.
type Delivery struct {
	Frame    *Frame
	From, To int    // rows of the frame; 0, 0 for frames without
	Bytes    []byte // as the view's encoder made it, nil without one; shared, not to be changed
}

// Rows returns the number of rows.
func (d *Delivery) Rows() int { return d.To - d.From }

// Next returns the position after the delivery.
func (d *Delivery) Next() Cursor {
	if d.To < d.Frame.n() {
		return d.Frame.At.After(d.To)
	}
	return d.Frame.Next
}
