package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// openTable opens the table of a folder, for roles.
func openTable(ctx context.Context, dir string) (*paimon.Table, error) {
	return paimon.Open(ctx, local.New("/", local.Options{}), dir[1:], paimon.MainBranch)
}

// writeRows: FOLDER KIND ROWS. It makes rows of the kind wide or orders and, when
// it gets a line, commits them.
func writeRows(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	n, err := integers(args[2:])
	if err != nil || len(n) != 1 {
		return errors.Join(err, errUsage)
	}
	t, err := openTable(ctx, args[0])
	if err != nil {
		return err
	}
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return err
	}
	var batches []*rowdata.Changes
	if args[1] == "wide" {
		batches = wideRows(w.Type(), 0, n[0], payloadColumns)
	} else {
		batches = commitsOf(ordersRows(w.Type(), n[0]), n[0])[0]
	}
	if err := ready(out); err != nil {
		return err
	}
	if err := awaitGo(in); err != nil {
		return err
	}
	return errors.Join(w.WriteCommit(ctx, batches), w.Close(ctx))
}

// tinyRows is how many rows a small commit has.
const tinyRows = 10

// tinySpec is the table of small commits: the peer's rows, with a changelog.
func tinySpec() paimon.SchemaSpec { return spec("input", "id", orders.Fields()...) }

// tiny makes small commits of rows with new keys.
type tiny struct {
	w     *tables.Writer
	batch *rowdata.Changes
	next  uint64
}

func newTiny(ctx context.Context, t *paimon.Table, first uint64, onCommit func(*paimon.Snapshot)) (*tiny, error) {
	w, err := tables.NewWriter(ctx, t, onCommit)
	if err != nil {
		return nil, err
	}
	return &tiny{w: w, batch: &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), tinyRows)}, next: first}, nil
}

// commit makes one and returns how long it took.
func (y *tiny) commit(ctx context.Context) (time.Duration, error) {
	y.batch.Batch.Reset()
	for range tinyRows {
		orders.Append(&y.batch.Batch, orders.Seed, orders.Key(orders.Seed, y.next), y.next)
		y.next++
	}
	begin := time.Now()
	err := y.w.WriteCommit(ctx, []*rowdata.Changes{y.batch})
	return time.Since(begin), err
}

// commitEvery makes n commits with a pause before each.
func (y *tiny) commitEvery(ctx context.Context, n int, pause time.Duration) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for range n {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := y.commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writeTimes: FOLDER COMMITS PAUSE-MILLIS. It makes small commits and tells when
// each was durable.
func writeTimes(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	n, err := integers(args[1:])
	if err != nil || len(n) != 2 {
		return errors.Join(err, errUsage)
	}
	t, err := openTable(ctx, args[0])
	if err != nil {
		return err
	}
	var times []seen
	y, err := newTiny(ctx, t, 0, func(s *paimon.Snapshot) { times = append(times, seen{s.ID, time.Now().UnixNano()}) })
	if err != nil {
		return err
	}
	if err := ready(out); err != nil {
		return err
	}
	if err := awaitGo(in); err != nil {
		return err
	}
	if err := errors.Join(y.commitEvery(ctx, n[0], time.Duration(n[1])*time.Millisecond), y.w.Close(ctx)); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(times)
}
