package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// tape is a sink that records what it gets.
type tape struct {
	events []string
	refuse int32 // a value of k
	fail   error
}

func (s *tape) Write(_ context.Context, rows *rowdata.Changes, _ string) error {
	if s.fail != nil {
		return s.fail
	}
	for i := range rows.N {
		if s.refuse != 0 && rows.Cols[0].I32[i] == s.refuse {
			return &tablewriter.RowError{Row: i, Column: "k", Err: errors.New("is refused")}
		}
	}
	for i := range rows.N {
		s.events = append(s.events, string(rowdata.AppendJSON(nil, rows.Cols[0], i)))
	}
	return nil
}

func (s *tape) Commit(_ context.Context, position string) (int64, error) {
	s.events = append(s.events, "@"+position)
	return int64(len(s.events)), nil
}

const eight = "{\"k\":1}\n{\"k\":2}\n{\"commit\":true}\n{\"k\":3}\n{\"k\":4}\n{\"k\":5}\n{\"commit\":true}\n{\"k\":6}\n"

func runPump(t *testing.T, in string, o PumpOptions) (*tape, Progress, error) {
	t.Helper()
	rt := rowType(t, "k INT")
	s := &tape{}
	done, err := NewPump(NewJSONL(strings.NewReader(in), rt), s, rt, o).Run(t.Context())
	return s, done, err
}

func TestPumpCommitsAtMarksRowsAndEnd(t *testing.T) {
	s, done, err := runPump(t, eight, PumpOptions{CommitRows: 2})
	require.NoError(t, err)
	require.Equal(t, "1 2 @2 3 4 @5 5 @7 6 @8", strings.Join(s.events, " "))
	require.Equal(t, Progress{Records: 8, Rows: 6, Commits: 4, Snapshot: 10}, done)
}

func TestPumpGoesOnAfterAPosition(t *testing.T) {
	s, done, err := runPump(t, eight, PumpOptions{Skip: 4})
	require.NoError(t, err)
	require.Equal(t, "4 5 @7 6 @8", strings.Join(s.events, " "))
	require.Equal(t, int64(3), done.Rows)
}

func TestPumpCommitsByTime(t *testing.T) {
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	s, _, err := runPump(t, "{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n{\"k\":4}\n", PumpOptions{CommitInterval: 2 * time.Second, Now: clock})
	require.NoError(t, err)
	require.Equal(t, "1 2 @2 3 4 @4", strings.Join(s.events, " "))
}

func TestPumpCommitsWhatCameBeforeABadRecord(t *testing.T) {
	s, _, err := runPump(t, "{\"k\":1}\n{\"k\":2}\n{\"k\":\"x\"}\n{\"k\":4}\n", PumpOptions{})
	var bad *RecordError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, int64(3), bad.Line)
	require.Equal(t, "1 2 @2", strings.Join(s.events, " "))
}

func TestPumpStopsAtItsSinksError(t *testing.T) {
	rt := rowType(t, "k INT")
	broken := errors.New("disk full")
	_, err := NewPump(NewJSONL(strings.NewReader(eight), rt), &tape{fail: broken}, rt, PumpOptions{}).Run(t.Context())
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "records up to 3")
}

func TestPumpStopsWhenCancelled(t *testing.T) {
	rt := rowType(t, "k INT")
	ctx, cancel := context.WithCancel(t.Context())
	s := &tape{}
	_, err := NewPump(NewJSONL(strings.NewReader(eight), rt), s, rt, PumpOptions{OnCommit: func(Progress) { cancel() }}).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "1 2 @3", strings.Join(s.events, " "))
}

// A record that the table refuses ends the stream like one that cannot be read:
// what came before it is committed, and the error names it.
func TestPumpCommitsWhatCameBeforeARefusedRecord(t *testing.T) {
	for _, c := range []struct {
		in   string
		o    PumpOptions
		want string
	}{
		{eight, PumpOptions{}, "1 2 @3 3 4 @5"},
		{eight, PumpOptions{CommitRows: 1}, "1 @1 2 @2 3 @4 4 @5"},
		{eight, PumpOptions{BatchRows: 3}, "1 2 @3 3 4 @5"},
		{"{\"k\":3}\n{\"k\":4}\n{\"k\":5}\n{\"k\":\"x\"}\n", PumpOptions{}, "3 4 @2"},
		{"{\"k\":5}\n", PumpOptions{}, ""},
	} {
		rt := rowType(t, "k INT")
		s := &tape{refuse: 5}
		_, err := NewPump(NewJSONL(strings.NewReader(c.in), rt), s, rt, c.o).Run(t.Context())
		var bad *RecordError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, int64(strings.Count(c.in[:strings.Index(c.in, `"k":5`)], "\n")+1), bad.Line)
		require.Equal(t, "k", bad.Column)
		require.Equal(t, c.want, strings.Join(s.events, " "))
	}
	// Of CSV the message names the line of the text, which has a header.
	rt := rowType(t, "k INT")
	_, err := NewPump(NewCSV(strings.NewReader("k\n1\n5\n"), rt), &tape{refuse: 5}, rt, PumpOptions{}).Run(t.Context())
	require.EqualError(t, err, "line 3, column k: is refused")
}

// Each write comes with the position after its rows: a sink that commits by itself
// has it.
func TestPumpTellsThePositionOfEachWrite(t *testing.T) {
	rt := rowType(t, "k INT")
	s := &positions{}
	_, err := NewPump(NewJSONL(strings.NewReader(eight), rt), s, rt, PumpOptions{BatchRows: 2, Skip: 1}).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"1 row to 3", "2 rows to 5", "1 row to 7", "1 row to 8"}, s.got)
}

type positions struct{ got []string }

func (s *positions) Write(_ context.Context, rows *rowdata.Changes, position string) error {
	plural := "s"
	if rows.N == 1 {
		plural = ""
	}
	s.got = append(s.got, fmt.Sprintf("%d row%s to %s", rows.N, plural, position))
	return nil
}

func (s *positions) Commit(context.Context, string) (int64, error) { return 1, nil }
