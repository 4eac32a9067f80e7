package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// Sink is where a pump puts changes: a table writer. Each Write comes with the
// position after its rows, since a sink may have to commit before it is asked to.
// Commit makes everything written so far durable together with the position, and
// returns the number of the snapshot (0 if there was nothing to commit). A
// *[tablewriter.RowError] of Write means that it took nothing of the rows.
type Sink interface {
	Write(ctx context.Context, rows *rowdata.Changes, position string) error
	Commit(ctx context.Context, position string) (snapshot int64, err error)
}

// PumpOptions configures a [Pump]. The zero value commits once, at the end.
type PumpOptions struct {
	CommitRows     int           // rows after which a commit is made; 0: no such limit
	CommitInterval time.Duration // time after which a commit is made if there are rows; 0: no such limit
	BatchRows      int           // rows handed to the sink at once; default 1024
	Skip           int64         // records to pass over: those that the table already has
	Position       func(line int64) string
	OnCommit       func(Progress)
	Now            func() time.Time
}

// Progress tells what a pump has done so far.
type Progress struct {
	Records  int64 // records read, those passed over included
	Rows     int64 // changes written
	Commits  int64
	Snapshot int64 // of the last commit
}

// Pump moves the records of a decoder into a sink.
type Pump struct {
	in   Decoder
	out  Sink
	rows *rowdata.Changes
	from []Mark // record of each row
	o    PumpOptions
	done Progress
	last time.Time
	open int // rows written since the last commit
}

// NewPump returns a pump for a table with these columns.
func NewPump(in Decoder, out Sink, t *rowdata.RowType, o PumpOptions) *Pump {
	if o.BatchRows <= 0 {
		o.BatchRows = 1024
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Position == nil {
		o.Position = func(line int64) string { return fmt.Sprint(line) }
	}
	if o.OnCommit == nil {
		o.OnCommit = func(Progress) {}
	}
	return &Pump{in: in, out: out, o: o, rows: &rowdata.Changes{Batch: *rowdata.NewBatch(t, o.BatchRows)}}
}

// Run moves all records. Rows before a bad record are committed before its
// *[RecordError] is returned. A cancelled context stops between records and
// returns ctx.Err(): rows since the last commit are not committed, and the
// position of that commit is where to go on.
func (p *Pump) Run(ctx context.Context) (Progress, error) {
	p.last = p.o.Now()
	for {
		if err := ctx.Err(); err != nil {
			return p.done, err
		}
		mark, err := p.in.Decode(p.rows)
		if err != nil {
			return p.finish(ctx, err)
		}
		p.done.Records = mark.Line
		if mark.Line <= p.o.Skip {
			p.rows.Reset()
			continue
		}
		for len(p.from) < p.rows.N {
			p.from = append(p.from, mark)
		}
		if p.rows.N >= p.o.BatchRows {
			if err := p.write(ctx); err != nil {
				return p.finish(ctx, err)
			}
		}
		if mark.Commit || p.due() {
			if err := p.commit(ctx); err != nil {
				return p.finish(ctx, err)
			}
		}
	}
}

// due tells whether enough rows or time have passed for a commit.
func (p *Pump) due() bool {
	rows := p.open + p.rows.N
	if rows == 0 {
		return false
	}
	return p.o.CommitRows > 0 && rows >= p.o.CommitRows ||
		p.o.CommitInterval > 0 && p.o.Now().Sub(p.last) >= p.o.CommitInterval
}

func (p *Pump) write(ctx context.Context) error {
	if p.rows.N == 0 {
		return nil
	}
	err := p.out.Write(ctx, p.rows, p.o.Position(p.done.Records))
	var bad *tablewriter.RowError
	if errors.As(err, &bad) && bad.Row < len(p.from) {
		return p.refused(ctx, bad)
	}
	if err != nil {
		return fmt.Errorf("records up to %d: %w", p.done.Records, err)
	}
	p.wrote(p.rows.N)
	return nil
}

// wrote counts rows of the batch and empties it.
func (p *Pump) wrote(n int) {
	p.open += n
	p.done.Rows += int64(n)
	p.rows.Reset()
	p.from = p.from[:0]
}

// refused writes the records before one that the sink refuses, and returns the
// error that names it.
func (p *Pump) refused(ctx context.Context, bad *tablewriter.RowError) error {
	mark := p.from[bad.Row]
	n := slices.IndexFunc(p.from, func(m Mark) bool { return m.Line == mark.Line })
	p.done.Records = mark.Line - 1
	if n > 0 {
		good := &rowdata.Changes{Kinds: p.rows.Kinds, Batch: *rowdata.NewBatch(p.rows.Type, n)}
		good.AppendRange(&p.rows.Batch, 0, n)
		if good.Kinds != nil {
			good.Kinds = good.Kinds[:n]
		}
		if err := p.out.Write(ctx, good, p.o.Position(p.done.Records)); err != nil {
			return fmt.Errorf("records up to %d: %w", p.done.Records, err)
		}
	}
	p.wrote(n)
	return &RecordError{Line: cmp.Or(mark.At, mark.Line), Column: bad.Column, Err: bad.Err}
}

func (p *Pump) commit(ctx context.Context) error {
	if err := p.write(ctx); err != nil {
		return err
	}
	p.last = p.o.Now()
	if p.open == 0 {
		return nil
	}
	snapshot, err := p.out.Commit(ctx, p.o.Position(p.done.Records))
	if err != nil {
		return err
	}
	p.open = 0
	p.done.Commits++
	p.done.Snapshot = snapshot
	p.o.OnCommit(p.done)
	return nil
}

// finish commits what was read before the stream ended, by its end or by a bad
// record.
func (p *Pump) finish(ctx context.Context, cause error) (Progress, error) {
	var bad *RecordError
	if !errors.Is(cause, io.EOF) && !errors.As(cause, &bad) {
		return p.done, cause
	}
	err := p.commit(ctx)
	if errors.As(err, &bad) {
		cause, err = err, p.commit(ctx)
	}
	if errors.Is(cause, io.EOF) {
		cause = nil
	}
	return p.done, errors.Join(cause, err)
}
