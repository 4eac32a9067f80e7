package feeds

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/snapshotreader"
)

// Until is where a subscription ends. Its zero value is never; if more than one
// field is set, the first end that is reached counts.
type Until struct {
	Latest   bool      // the newest snapshot at the time of the call, rows included
	Snapshot int64     // this snapshot, rows included
	Time     time.Time // commits at or before this time
	Commits  int64     // the changes of so many snapshots, empty ones counted
	Cursor   Cursor    // rows before this cursor
}

// ParseUntil reads latest, snapshot:N, time:T, commits:N or cursor:C;
// empty and forever are never. It returns a [*RequestError] or a
// [*CursorInvalidError].
func ParseUntil(s string) (Until, error) {
	kind, arg, _ := strings.Cut(s, ":")
	bad := func() (Until, error) {
		return Until{}, &RequestError{Field: "until", Why: fmt.Sprintf("%q: want latest, snapshot:N, time:T as in time:2026-11-29T12:00:00Z, commits:N or cursor:C", s)}
	}
	switch {
	case s == "" || s == "forever":
		return Until{}, nil
	case s == "latest":
		return Until{Latest: true}, nil
	case kind == "snapshot" || kind == "commits":
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n < 1 {
			return bad()
		}
		if kind == "commits" {
			return Until{Commits: n}, nil
		}
		return Until{Snapshot: n}, nil
	case kind == "time":
		t, err := snapshotreader.ParseTime(arg)
		if err != nil {
			return bad()
		}
		return Until{Time: t}, nil
	case kind == "cursor":
		c, err := ParseCursor(arg)
		return Until{Cursor: c}, err
	}
	return bad()
}

// bound is an [Until] that is resolved: the first end that is reached counts.
type bound struct {
	snapshot int64     // the last one, 0: none
	time     time.Time // commits at or before it, zero: none
	cursor   Cursor    // rows before it, zero: none
	none     bool      // nothing at all: the table was empty
}

// bound resolves the end of a subscription that begins at a position.
func (u Until) bound(ctx context.Context, f *Feed, at Cursor) (bound, error) {
	b := bound{snapshot: u.Snapshot, time: u.Time, cursor: u.Cursor}
	if u.Latest {
		st, err := f.Status(ctx)
		if err != nil {
			return b, err
		}
		b.none = st.Latest == 0
		b.ends(st.Latest)
	}
	if u.Commits > 0 {
		last := at.Snapshot + u.Commits - 1
		if at.Phase == Image { // an image is no commit
			last++
		}
		b.ends(last)
	}
	return b, nil
}

// ends makes a snapshot the last one, unless another comes sooner.
func (b *bound) ends(snapshot int64) {
	if b.snapshot == 0 || snapshot < b.snapshot {
		b.snapshot = snapshot
	}
}

// before tells whether the end comes before a commit.
func (b *bound) before(c *Commit) bool {
	return b.snapshot > 0 && c.Snapshot > b.snapshot || !b.time.IsZero() && c.Time.After(b.time)
}

// reached tells whether a position is at or after the end.
func (b *bound) reached(c Cursor) bool {
	return b.none || b.snapshot > 0 && c.Snapshot > b.snapshot || !b.cursor.IsZero() && c.Compare(b.cursor) >= 0
}

// mayPass tells whether the end is a time that has passed: then the last commit
// may have been read already.
func (b *bound) mayPass(now time.Time) bool { return !b.time.IsZero() && now.After(b.time) }

// cut returns how many rows of a frame come before the end, and whether the end
// is in the frame or right behind it.
func (b *bound) cut(f *Frame, to int) (int, bool) {
	c := b.cursor
	if c.IsZero() || c.Snapshot != f.At.Snapshot || c.Phase != f.At.Phase || c.Compare(f.At.After(to)) > 0 {
		if !c.IsZero() && c.Compare(f.At) < 0 {
			return 0, true
		}
		return to, false
	}
	if c.Unit != f.At.Unit || c.Row < f.At.Row {
		return 0, true
	}
	return int(c.Row - f.At.Row), true
}
