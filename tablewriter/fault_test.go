package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
)

// TestFaultAtEachCall lets each call of the store fail, alone or with all that follow, while
// a writer is opened and commits three times. Whatever that does to the writer,
// one that goes on from the committed position ends with every row there once.
func TestFaultAtEachCall(t *testing.T) {
	for name, s := range map[string]paimon.SchemaSpec{
		"append": spec([]string{"n BIGINT", "v STRING"}, nil, nil),
		"keyed":  spec([]string{"n BIGINT", "v STRING"}, []string{"n"}, nil, "bucket", "2", "changelog-producer", "input"),
	} {
		for way, rule := range map[string]func(call int) faultstore.Rule{
			"fails before": func(n int) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.FailBefore} },
			"fails after":  func(n int) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.FailAfter} },
			"torn":         func(n int) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.Torn} },
			"stale list": func(n int) faultstore.Rule {
				return faultstore.Rule{Call: n, Mode: faultstore.StaleList, HideNewest: 1}
			},
			"all fail from there on": func(n int) faultstore.Rule { return faultstore.Rule{Skip: n - 1, Mode: faultstore.FailBefore} },
			"all fail after":         func(n int) faultstore.Rule { return faultstore.Rule{Skip: n - 1, Mode: faultstore.FailAfter} },
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				calls := 0
				for call := 1; ; call++ {
					inner := memory()
					newTable(t, inner, s)
					store := faultstore.New(inner, rule(call))
					acked, err := writeNumbers(t.Context(), openFaulty(store), 3)
					if call > len(store.Calls()) {
						require.NoError(t, err)
						break
					}
					calls++
					table := openTable(t, inner)
					more, err := writeNumbers(t.Context(), func(context.Context) (*paimon.Table, error) { return table, nil }, 2)
					require.NoError(t, err, "after %s", store.Calls()[call-1])
					require.GreaterOrEqual(t, more, acked)
					checkNumbers(t, table, more)
				}
				require.Greater(t, calls, 10)
			})
		}
	}
}

func openFaulty(store *faultstore.Store) func(context.Context) (*paimon.Table, error) {
	return func(ctx context.Context) (*paimon.Table, error) {
		return paimon.NewCatalog(store, "wh").OpenTable(ctx, "db.t")
	}
}

// writeNumbers opens the table and writes numbered rows in commits, from the
// committed position on. It returns the last number that was acknowledged, -1 if
// none was.
func writeNumbers(ctx context.Context, open func(context.Context) (*paimon.Table, error), commits int) (acked int64, err error) {
	acked = -1
	table, err := open(ctx)
	if err != nil {
		return acked, err
	}
	noWait := func(context.Context, time.Duration) error { return nil }
	w, err := Open(ctx, table, Options{
		User: "numbers", CommitInterval: time.Hour, CommitTimeout: 5 * time.Millisecond, RetryWaitMin: 1, RetryWaitMax: 1,
		Commit: commit.Options{Wait: noWait},
	})
	if err != nil {
		return acked, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	point, err := w.Restore(ctx)
	if err != nil {
		return acked, err
	}
	next := int64(0)
	if pos, ok := point.Position("numbers"); ok {
		if next, err = strconv.ParseInt(pos.Value, 10, 64); err != nil {
			return acked, err
		}
		acked = next - 1
	}
	for range commits {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 0)}
		for range 5 {
			c.Cols[0].AppendI64(next)
			c.Cols[1].AppendString(fmt.Sprint("text ", next))
			c.CloseRow()
			next++
		}
		receipt, err := w.Write(ctx, c, Position{Source: "numbers", Value: strconv.FormatInt(next, 10)})
		if err != nil {
			return acked, err
		}
		if _, err := w.Commit(ctx); err != nil {
			return acked, err
		}
		if _, err := receipt.Wait(ctx); err != nil {
			return acked, err
		}
		acked = next - 1
	}
	return acked, nil
}
