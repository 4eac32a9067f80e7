package resume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/subscriber"
)

// patience bounds the wait for anything that must come.
const patience = 20 * time.Second

// read subscribes and takes events until enough says so, then cuts the connection;
// to the end if enough is nil.
func read(t *testing.T, tr subscriber.Transport, r subscriber.Request, enough func(*subscriber.Event) bool) []subscriber.Event {
	t.Helper()
	events, err := readUntil(t.Context(), tr, r, enough)
	require.NoError(t, err, "%s from %s, after %d events", tr.Name(), r.Start, len(events))
	return events
}

func readUntil(ctx context.Context, tr subscriber.Transport, r subscriber.Request, enough func(*subscriber.Event) bool) ([]subscriber.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.Feed = tableName
	s, err := tr.Subscribe(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var events []subscriber.Event
	for {
		e, err := s.Next(ctx)
		if enough == nil && errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, *e)
		if enough != nil && enough(e) {
			return events, nil
		}
	}
}

// changesOf returns the rows of events.
func changesOf(events []subscriber.Event) []subscriber.Change {
	var out []subscriber.Change
	for _, e := range events {
		if e.Type == subscriber.Row {
			out = append(out, e.Change)
		}
	}
	return out
}

// checkFrames checks what the protocol promises of one connection's frames: their
// order, that counts are those of the rows that came, that rows have the schema
// that was told, and that the cursor of each frame is where the next one begins.
func checkFrames(events []subscriber.Event) error {
	var (
		inside bool
		commit subscriber.Commit
		counts subscriber.Counts
	)
	for i, e := range events {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("frame %d, %s: "+format, append([]any{i, e.Type}, args...)...)
		}
		if (e.Type == subscriber.Subscribed) != (i == 0) {
			return bad("subscribed is the first, and once")
		}
		switch e.Type {
		case subscriber.Begin:
			if inside {
				return bad("commit %d has not ended", commit.Snapshot)
			}
			inside, commit, counts = true, e.Commit, subscriber.Counts{}
		case subscriber.Row:
			if !inside || e.Change.Snapshot != commit.Snapshot || e.Change.Image != commit.Image || e.Change.SchemaID != commit.SchemaID {
				return bad("%v in %+v", e.Change, commit)
			}
			counts.Add(e.Change.Kind)
		case subscriber.End:
			if !inside || e.Commit != commit || e.Counts != counts {
				return bad("%v rows of %+v, but %v came of %+v", e.Counts, e.Commit, counts, commit)
			}
			inside = false
		case subscriber.Progress, subscriber.Schema:
			if inside {
				return bad("in commit %d", commit.Snapshot)
			}
		case subscriber.Complete:
			if inside || i != len(events)-1 {
				return bad("not at the end")
			}
		}
		if e.Cursor == "" {
			return bad("has no cursor")
		}
	}
	return nil
}

// lines are the frames of a stream as text: what must be equal on all transports.
// What a gateway says of itself (progress, the newest snapshot) is left out.
func lines(events []subscriber.Event) []string {
	var out []string
	for _, e := range events {
		switch e.Type {
		case subscriber.Progress:
		case subscriber.Subscribed:
			out = append(out, fmt.Sprintf("subscribed %s, %s", e.Columns, e.Cursor))
		case subscriber.Row:
			out = append(out, e.Change.String())
		default:
			out = append(out, fmt.Sprintf("%s %s %+v continued %t counts %v, %s", e.Type, e.Columns, e.Commit, e.Continued, e.Counts, e.Cursor))
		}
	}
	return out
}

// ends returns the frames that end commits, by phase and snapshot.
func ends(events []subscriber.Event) map[string]subscriber.Event {
	out := map[string]subscriber.Event{}
	for _, e := range events {
		if e.Type == subscriber.End {
			out[fmt.Sprint(e.Commit.Snapshot, e.Commit.Image)] = e
		}
	}
	return out
}
