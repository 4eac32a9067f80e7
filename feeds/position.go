package feeds

import "sluice/snapshotreader"

// Positions are the reader's. They have names here so that transports need not
// know it.
type (
	// Cursor names the next unread row of a table's stream.
	Cursor = snapshotreader.Cursor
	// Phase tells whether rows are a table's state or changes to it.
	Phase = snapshotreader.Phase
	// Start says where a stream begins.
	Start = snapshotreader.Start
	// StartMode is a way to say where a stream begins.
	StartMode = snapshotreader.StartMode
)

// The phases of a stream.
const (
	Image   = snapshotreader.Image   // all rows of one snapshot
	Changes = snapshotreader.Changes // what one snapshot after the other changed
)

// The ways to say where a stream begins.
const (
	StartEarliest     = snapshotreader.StartEarliest
	StartLatest       = snapshotreader.StartLatest
	StartFull         = snapshotreader.StartFull
	StartSnapshot     = snapshotreader.StartSnapshot
	StartSnapshotFull = snapshotreader.StartSnapshotFull
	StartTime         = snapshotreader.StartTime
	StartTag          = snapshotreader.StartTag
	StartTagFull      = snapshotreader.StartTagFull
	StartCursor       = snapshotreader.StartCursor
	StartConsumer     = snapshotreader.StartConsumer
)

// ParseCursor reads the text of a cursor, or TEXT+N: the row that comes N rows
// after TEXT. It returns a [*CursorInvalidError].
func ParseCursor(text string) (Cursor, error) { return snapshotreader.ParseCursor(text) }

// ParseStart reads earliest, latest, full, snapshot:N, time:T, tag:NAME, cursor:C
// and the other forms of [snapshotreader.ParseStart]. It returns a
// [*RequestError] or a [*CursorInvalidError].
func ParseStart(text string) (Start, error) {
	s, err := snapshotreader.ParseStart(text)
	if err != nil && ProblemOf(err).Reason != CursorInvalid {
		err = &RequestError{Field: "start", Why: err.Error()}
	}
	return s, err
}
