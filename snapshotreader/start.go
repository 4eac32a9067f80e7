package snapshotreader

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StartMode is a way to say where a stream begins.
type StartMode uint8

// The starting positions (semantics section 6.3). Those of a kind with an image
// deliver the state of a snapshot first and then what changed after it.
const (
	StartEarliest     StartMode = iota // changes of the oldest snapshot that has them still
	StartLatest                        // changes after the newest snapshot
	StartFull                          // image of the newest snapshot, then changes; of an empty table: all changes
	StartSnapshot                      // changes of Start.Snapshot and after
	StartSnapshotFull                  // image of Start.Snapshot, then changes
	StartTime                          // changes of the first snapshot made at or after Start.Time that is still there
	StartTag                           // changes after the snapshot that Start.Tag names: continues a read of the tag
	StartTagFull                       // image of what Start.Tag names, then changes
	StartCursor                        // Start.Cursor
	StartConsumer                      // where the table's consumer Start.Consumer stands; full if there is none
)

var startNames = [...]string{"earliest", "latest", "full", "snapshot", "snapshot-full", "time", "tag", "tag-full", "cursor", "consumer"}

// String returns the name that [ParseStart] knows.
func (m StartMode) String() string {
	if int(m) < len(startNames) {
		return startNames[m]
	}
	return fmt.Sprintf("StartMode(%d)", uint8(m))
}

// Start says where a stream begins. The zero value is the earliest position.
type Start struct {
	Mode     StartMode
	Snapshot int64
	Time     time.Time
	Tag      string
	Cursor   Cursor
	Consumer string

	// OrEarliest begins at the oldest available position if the one that is asked
	// for has expired, as Paimon does, instead of failing. What is left out is
	// not told.
	OrEarliest bool
}

// At returns the start at a cursor.
func At(c Cursor) Start { return Start{Mode: StartCursor, Cursor: c} }

// ParseStart reads a starting position:
//
//	earliest  latest  full
//	snapshot:N  snapshot-full:N
//	time:T       epoch milliseconds, RFC 3339, or a date with or without time in UTC
//	tag:NAME  tag-full:NAME
//	cursor:TEXT  consumer:ID
func ParseStart(s string) (Start, error) {
	name, arg, has := strings.Cut(s, ":")
	mode := StartMode(slices.Index(startNames[:], name))
	if int(mode) >= len(startNames) {
		return Start{}, fmt.Errorf("start %q: want earliest, latest, full, snapshot:N, snapshot-full:N, time:T, tag:T, tag-full:T, cursor:C or consumer:ID", s)
	}
	st := Start{Mode: mode}
	plain := mode == StartEarliest || mode == StartLatest || mode == StartFull
	if plain == has || !plain && arg == "" {
		if plain {
			return Start{}, fmt.Errorf("start %q: %s takes no argument", s, name)
		}
		return Start{}, fmt.Errorf("start %q: %s needs an argument, as in %s:X", s, name, name)
	}
	var err error
	switch mode {
	case StartSnapshot, StartSnapshotFull:
		st.Snapshot, err = parseSnapshotID(arg)
	case StartTime:
		st.Time, err = ParseTime(arg)
	case StartTag, StartTagFull:
		st.Tag = arg
	case StartCursor:
		st.Cursor, err = ParseCursor(arg)
	case StartConsumer:
		st.Consumer = arg
	}
	if err != nil {
		return Start{}, fmt.Errorf("start %s: %w", name, err)
	}
	return st, nil
}

// String returns the text that [ParseStart] reads.
func (s Start) String() string {
	name := s.Mode.String()
	switch s.Mode {
	case StartSnapshot, StartSnapshotFull:
		return name + ":" + strconv.FormatInt(s.Snapshot, 10)
	case StartTime:
		return name + ":" + s.Time.UTC().Format(time.RFC3339Nano)
	case StartTag, StartTagFull:
		return name + ":" + s.Tag
	case StartCursor:
		return name + ":" + s.Cursor.String()
	case StartConsumer:
		return name + ":" + s.Consumer
	}
	return name
}

// UntilMode is a way to say where a stream ends.
type UntilMode uint8

// The bounds of a stream.
const (
	UntilForever  UntilMode = iota // never
	UntilLatest                    // after the snapshot that is the newest when the stream is opened
	UntilSnapshot                  // after the changes of Until.Snapshot, waited for if it is not there yet
	UntilTime                      // before the first snapshot made after Until.Time, or when that time has passed and nothing is left
	UntilCommits                   // after the changes of Until.Commits snapshots, empty ones counted
)

var untilNames = [...]string{"forever", "latest", "snapshot", "time", "commits"}

// Until says where a stream ends. The zero value is never. An image is always
// delivered whole and is no commit.
type Until struct {
	Mode     UntilMode
	Snapshot int64
	Time     time.Time
	Commits  int64
}

// ParseUntil reads a bound: forever, latest, snapshot:N, time:T or commits:N.
func ParseUntil(s string) (Until, error) {
	name, arg, has := strings.Cut(s, ":")
	mode := UntilMode(slices.Index(untilNames[:], name))
	if int(mode) >= len(untilNames) || (mode == UntilForever || mode == UntilLatest) == has {
		return Until{}, fmt.Errorf("until %q: want forever, latest, snapshot:N, time:T or commits:N", s)
	}
	u := Until{Mode: mode}
	var err error
	switch mode {
	case UntilSnapshot:
		u.Snapshot, err = parseSnapshotID(arg)
	case UntilTime:
		u.Time, err = ParseTime(arg)
	case UntilCommits:
		u.Commits, err = strconv.ParseInt(arg, 10, 64)
		if err != nil || u.Commits < 1 {
			err = fmt.Errorf("%q is not a number of commits", arg)
		}
	}
	if err != nil {
		return Until{}, fmt.Errorf("until %s: %w", name, err)
	}
	return u, nil
}

func parseSnapshotID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%q is not a snapshot id", s)
	}
	return id, nil
}

var timeForms = [...]string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// ParseTime reads a point in time: epoch milliseconds, RFC 3339, or a date with or
// without a time of day, which is in UTC.
func ParseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) > 4 {
		return time.UnixMilli(ms).UTC(), nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: want epoch milliseconds or a form like 2026-01-31T15:04:05Z", s)
}
