package snapshotreader

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// delivery is what one snapshot contributes to a stream, from a position on.
type delivery struct {
	table  *paimon.Table
	snap   *paimon.Snapshot
	proj   *projection
	limits batchLimits
	start  Cursor // where it begins
	end    Cursor // what comes after it
	units  []unit

	at     uint32      // unit
	rows   *unitReader // of it; nil: not open
	row    uint64      // of the next row in it
	ahead  *Batch      // read, not returned
	begun  bool        // a batch was returned
	broken bool        // reading ahead failed: begin anew at the position
}

// newDelivery begins at c, a position in the units of the snapshot.
func newDelivery(t *paimon.Table, snap *paimon.Snapshot, proj *projection, units []unit, c Cursor, limits batchLimits) (*delivery, error) {
	d := &delivery{table: t, snap: snap, proj: proj, limits: limits, units: units, at: c.Unit, row: c.Row, end: afterSnapshot(c, snap)}
	d.start = d.cursor(c.Phase, c.Table, c.Branch)
	if int(c.Unit) > len(units) || int(c.Unit) == len(units) && c.Row > 0 {
		return nil, &CursorMismatchError{Cursor: c, Reason: fmt.Sprintf("it names unit %d of %d; streams that deliver overwrites differ from those that do not", c.Unit, len(units))}
	}
	return d, nil
}

// afterSnapshot returns the cursor behind all of a snapshot's delivery.
func afterSnapshot(c Cursor, snap *paimon.Snapshot) Cursor {
	return Cursor{Table: c.Table, Branch: c.Branch, Phase: Changes, Snapshot: snap.ID + 1, mark: fingerprint(snap), markOf: markPrevious}
}

// fingerprint identifies a snapshot among all that ever had its number: the name
// of its delta list is unique.
func fingerprint(snap *paimon.Snapshot) uint32 {
	return crc32.ChecksumIEEE([]byte(snap.DeltaManifestList))
}

// cursor names the next row.
func (d *delivery) cursor(phase Phase, table uint64, branch uint32) Cursor {
	return Cursor{Table: table, Branch: branch, Phase: phase, Snapshot: d.snap.ID, Unit: d.at, Row: d.row, mark: fingerprint(d.snap), markOf: markSelf}
}

// next returns the next batch with First, Last and Next set. There is at least
// one; the last has Last set. It reads one batch ahead, to know which that is.
func (d *delivery) next(ctx context.Context) (*Batch, error) {
	b := d.ahead
	d.ahead = nil
	if b == nil {
		var err error
		if b, err = d.read(ctx); err == io.EOF {
			b = d.batch(d.start)
			b.First, b.Last, b.Next = d.first(d.start), true, d.end
			return b, nil
		} else if err != nil {
			return nil, err
		}
	}
	if !d.begun && d.start.AtBoundary() && b.At.Unit > 0 {
		// Units without rows come first. The delivery begins all the same.
		d.begun, d.ahead = true, b
		first := d.batch(d.start)
		first.First, first.Next = true, b.At
		return first, nil
	}
	b.First = d.first(b.At)
	ahead, err := d.read(ctx)
	var paused *pausedError
	switch {
	case err == nil:
		if b.splitsPair(ahead) && b.Rows.N > 1 {
			b.giveLast(ahead)
		}
		d.ahead, b.Next = ahead, ahead.At
	case err == io.EOF:
		b.Last, b.Next = true, d.end
	case errors.As(err, &paused):
		d.ahead = b
		return nil, err
	default:
		d.broken, b.Next = true, b.At.After(b.Rows.N)
	}
	d.begun = true
	return b, nil
}

// first tells whether a position is that of the first row of the delivery.
func (d *delivery) first(c Cursor) bool { return c.Unit == 0 && c.Row == 0 }

// batch returns a batch without rows at a position.
func (d *delivery) batch(at Cursor) *Batch {
	b := &Batch{Snapshot: d.snap, Phase: at.Phase, Schema: d.proj.schema, At: at}
	b.Rows.Type = d.proj.out
	b.Rows.Cols = rowdata.NewBatch(d.proj.out, 0).Cols
	return b
}

// read decodes the next batch; io.EOF behind the last unit.
func (d *delivery) read(ctx context.Context) (*Batch, error) {
	for {
		if d.rows == nil {
			if int(d.at) == len(d.units) {
				return nil, io.EOF
			}
			var err error
			if d.rows, err = openUnit(d.table, d.proj, &d.units[d.at], d.limits, d.row); err != nil {
				return nil, err
			}
		}
		kv, err := d.rows.next(ctx, nil)
		if err == io.EOF {
			if err := d.close(); err != nil {
				return nil, err
			}
			d.at++
			d.row = 0
			continue
		}
		if err != nil {
			return nil, d.explain(err)
		}
		b := d.fill(kv)
		d.row += uint64(kv.N)
		return b, nil
	}
}

// fill makes a batch of decoded rows.
func (d *delivery) fill(kv *rowdata.KeyValues) *Batch {
	u := &d.units[d.at]
	b := &Batch{
		Snapshot: d.snap, Phase: d.start.Phase, Schema: d.proj.schema, Partition: u.partition, Bucket: u.bucket,
		At: d.cursor(d.start.Phase, d.start.Table, d.start.Branch),
	}
	b.Rows.Batch = d.proj.deliver(&kv.Batch)
	if d.rows.cur.kinds {
		b.Rows.Kinds = kv.Kinds
	}
	if u.forced {
		b.Rows.Kinds = make([]rowdata.RowKind, kv.N)
		for i := range b.Rows.Kinds {
			b.Rows.Kinds[i] = u.kind
		}
	}
	return b
}

// explain turns a row that does not exist into what it says of the cursor.
func (d *delivery) explain(err error) error {
	var rows *rowRangeError
	if errors.As(err, &rows) {
		return &CursorMismatchError{Cursor: d.cursor(d.start.Phase, d.start.Table, d.start.Branch), Reason: rows.Error()}
	}
	return err
}

func (d *delivery) close() error {
	r := d.rows
	d.rows = nil
	if r == nil {
		return nil
	}
	return r.close()
}
