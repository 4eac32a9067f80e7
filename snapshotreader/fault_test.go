package snapshotreader

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/faultstore"
	"sluice/paimon"
)

var faultTables = []struct {
	dir       string
	start     string
	overwrite bool
}{
	{dir: "golden/dedup-lookup/table", start: "snapshot-full:4"},
	{dir: "golden/dedup-none/table", start: "full"},
	{dir: "golden/dv-v2/table", start: "snapshot-full:6"},
	{dir: "golden/overwrite/table", start: "earliest", overwrite: true},
	{dir: "golden/expired-decoupled/table", start: "earliest"},
	{dir: "golden/append-bucketed/table", start: "full"},
}

// readStubbornly reads a stream to its end and repeats each call that fails for the
// injected reason, which it expects to do so a few times only.
func readStubbornly(t *testing.T, table *paimon.Table, s Start, o Options, injected error) []change {
	t.Helper()
	failures := 0
	try := func(err error) bool {
		if err == nil || err == io.EOF {
			return false
		}
		require.ErrorIs(t, err, injected)
		failures++
		require.Less(t, failures, 5)
		return true
	}
	tl, err := Open(t.Context(), table, s, o)
	for try(err) {
		tl, err = Open(t.Context(), table, s, o)
	}
	defer tl.Close()
	var out []change
	for {
		at := tl.Cursor()
		b, err := tl.Next(t.Context())
		if err == io.EOF {
			return out
		}
		if try(err) {
			require.Equal(t, at, tl.Cursor())
			continue
		}
		out = append(out, changesOf(t, table, b)...)
	}
}

// Whatever single call of the store fails, a reader that repeats its call gets every
// row once, in order, with the same cursors.
func TestEveryStoreCallMayFail(t *testing.T) {
	for _, tt := range faultTables {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			table := openGolden(t, filepath.Join("../testdata", tt.dir), "")
			start, err := ParseStart(tt.start)
			require.NoError(t, err)
			o := Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &tt.overwrite, BatchRows: 50}
			want, err := readStream(t.Context(), t, table, start, o)
			require.NoError(t, err)
			for _, mode := range []faultstore.Mode{faultstore.FailBefore, faultstore.Torn} {
				for call := 1; ; call++ {
					store := faultstore.New(table.Store)
					fresh, err := paimon.OpenWith(t.Context(), store, table.Path, "", paimon.OpenOptions{ParallelReads: 1})
					require.NoError(t, err)
					store.SetRules(faultstore.Rule{Call: call, Mode: mode})
					got := readStubbornly(t, fresh, start, o, faultstore.ErrInjected)
					require.Equal(t, want, got, "call %d", call)
					if store.Fired() == 0 {
						require.Greater(t, call, 10)
						break
					}
				}
			}
		})
	}
}

// endingContext ends after its error was asked for a number of times.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// A context that ends at any moment costs nothing but that call.
func TestContextMayEndAnywhere(t *testing.T) {
	for _, tt := range faultTables {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			table := openGolden(t, filepath.Join("../testdata", tt.dir), "")
			start, err := ParseStart(tt.start)
			require.NoError(t, err)
			o := Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &tt.overwrite, BatchRows: 3}
			want, err := readStream(t.Context(), t, table, start, o)
			require.NoError(t, err)
			tl, err := Open(t.Context(), table, start, o)
			require.NoError(t, err)
			defer tl.Close()
			var got []change
			for calls := 0; ; {
				ctx := &endingContext{t.Context(), calls}
				b, err := tl.Next(ctx)
				if errors.Is(err, context.Canceled) {
					calls++
					continue
				}
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
				calls = 0
				got = append(got, changesOf(t, table, b)...)
			}
			require.Equal(t, want, got)
		})
	}
}

// A scan goes on too after its context ended between two batches.
func TestScanContextMayEnd(t *testing.T) {
	table := openGolden(t, filepath.Join(goldenDir, "dedup-none/table"), "")
	s, err := Scan(t.Context(), table, latestOf(t, table), ScanSpec{BatchRows: 1, Keep: true})
	require.NoError(t, err)
	want := rowsOf(readScan(t, s))
	s, err = Scan(t.Context(), table, latestOf(t, table), ScanSpec{BatchRows: 1, Keep: true})
	require.NoError(t, err)
	var got []*Batch
	for {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Next(ctx)
		require.ErrorIs(t, err, context.Canceled)
		b, err := s.Next(t.Context())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		got = append(got, b)
	}
	require.Equal(t, want, rowsOf(got))
	require.NoError(t, s.Close())
}
