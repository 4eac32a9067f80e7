package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"sluice/bench/tables"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// batchRows is how many rows are handed to the writer at a time.
const batchRows = 10_000

// ordersSpec is the table of the limits: 6 columns, which are 9 in a file.
func ordersSpec(producer string) paimon.SchemaSpec {
	return spec(producer, "order_id",
		"order_id BIGINT NOT NULL", "user_id BIGINT", "status STRING", "amount DECIMAL(10, 2)", "ts TIMESTAMP(3)", "dt STRING")
}

// wideSpec is the table of events of about 200 bytes on the wire, as the limits
// send them; how long the payload is for that depends on the form.
func wideSpec() paimon.SchemaSpec {
	return spec("none", "id", "id STRING NOT NULL", "seq BIGINT", "ts TIMESTAMP(3)", "payload STRING")
}

const (
	payloadColumns = 150
	payloadJSON    = 92
)

func spec(producer, key string, fields ...string) paimon.SchemaSpec {
	return paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{Fields: fields, PK: []string{key}},
		Options: map[string]string{
			"bucket": "1", "file.format": "parquet", "file.compression": "zstd", "file.compression.zstd-level": "1",
			"changelog-producer": producer, "write-only": "true",
		},
	}
}

// ordersRows are the rows that bench/limits/data.go makes of the same n, in
// columns and in the order of the key.
func ordersRows(typ *rowdata.RowType, n int) *rowdata.Changes {
	c := &rowdata.Changes{Kinds: make([]rowdata.RowKind, 0, n), Batch: *rowdata.NewBatch(typ, n)}
	statuses := [...]string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "CANCELLED"}
	r := rand.New(rand.NewPCG(42, uint64(n)))
	id, ts := int64(1_000_000), int64(1_764_000_000_000)
	for i := range n {
		id += 1 + r.Int64N(5)
		ts += r.Int64N(40)
		_ = r.Int64N(1000) // the sequence number, which the writer gives here
		kind := rowdata.Insert
		if r.IntN(20) == 0 {
			kind = rowdata.RowKind(r.IntN(4))
		}
		c.Kinds = append(c.Kinds, kind)
		c.Cols[0].AppendI64(id)
		c.Cols[1].AppendI64(1 + int64(r.ExpFloat64()*20_000))
		c.Cols[2].AppendString(statuses[r.IntN(len(statuses))])
		c.Cols[3].AppendI64(100 + r.Int64N(9_999_900))
		c.Cols[4].AppendI64(ts - r.Int64N(1000))
		day := "2026-11-28"
		if i >= n/2 {
			day = "2026-11-29"
		}
		c.Cols[5].AppendString(day)
		c.CloseRow()
	}
	return c
}

// commitsOf deals rows into commits of batches, in a random order, as the limits
// take them.
func commitsOf(all *rowdata.Changes, commitRows int) (commits [][]*rowdata.Changes) {
	perm := rand.New(rand.NewPCG(5, 5)).Perm(all.N)
	for at := 0; at < all.N; at += commitRows {
		var batches []*rowdata.Changes
		end := min(all.N, at+commitRows)
		for from := at; from < end; from += batchRows {
			to := min(end, from+batchRows)
			b := &rowdata.Changes{Kinds: make([]rowdata.RowKind, 0, to-from), Batch: *rowdata.NewBatch(all.Type, to-from)}
			for _, i := range perm[from:to] {
				b.Kinds = append(b.Kinds, all.Kinds[i])
				b.AppendFrom(&all.Batch, i)
			}
			batches = append(batches, b)
		}
		commits = append(commits, batches)
	}
	return commits
}

// wideRows are rows from..to of the table of wide events, in batches.
func wideRows(typ *rowdata.RowType, from, to, payloadBytes int) (batches []*rowdata.Changes) {
	r := rand.New(rand.NewPCG(7, uint64(from)))
	payload := make([]byte, payloadBytes)
	for at := from; at < to; at += batchRows {
		b := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, batchRows)}
		for i := at; i < min(to, at+batchRows); i++ {
			for k := range payload {
				payload[k] = 'a' + byte(r.Uint32()%26)
			}
			b.Cols[0].AppendString(fmt.Sprintf("order-%016d", i))
			b.Cols[1].AppendI64(int64(i))
			b.Cols[2].AppendI64(1_764_000_000_000 + int64(i))
			b.Cols[3].AppendBytes(payload)
			b.CloseRow()
		}
		batches = append(batches, b)
	}
	return batches
}

// ordersTable is the table of the limits with n rows in four commits.
func (e *env) ordersTable(ctx context.Context, n int) (*paimon.Table, error) {
	return e.Prepared(ctx, fmt.Sprintf("orders-%d", n), ordersSpec("input"), func(t *paimon.Table) error {
		return write(ctx, t, func(typ *rowdata.RowType) [][]*rowdata.Changes { return commitsOf(ordersRows(typ, n), (n+3)/4) })
	})
}

// wideTable is the table of wide events as JSON, with n rows in commits of
// 100,000.
func (e *env) wideTable(ctx context.Context, n int) (*paimon.Table, error) {
	return e.Prepared(ctx, fmt.Sprintf("wide-%d", n), wideSpec(), func(t *paimon.Table) error {
		return write(ctx, t, func(typ *rowdata.RowType) (commits [][]*rowdata.Changes) {
			for at := 0; at < n; at += 100_000 {
				commits = append(commits, wideRows(typ, at, min(n, at+100_000), payloadJSON))
			}
			return commits
		})
	})
}

// write writes commits to a table.
func write(ctx context.Context, t *paimon.Table, commits func(*rowdata.RowType) [][]*rowdata.Changes) error {
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return err
	}
	for _, batches := range commits(w.Type()) {
		if err := w.WriteCommit(ctx, batches); err != nil {
			return err
		}
	}
	return w.Close(ctx)
}
