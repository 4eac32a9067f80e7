package snapshotreader

import (
	"fmt"
	"strings"
)

// Explanation is a cursor in words, for people and for JSON.
type Explanation struct {
	Version   int    `json:"version"`
	Table     string `json:"table"`               // identity, 16 hexadecimal digits
	Branch    string `json:"branch"`              // main, or # and the hash of the name
	Snapshot  int64  `json:"snapshot"`            // whose image or changes come next
	Phase     string `json:"phase"`               // image or changes
	Unit      uint32 `json:"unit"`                // ordinal of the file or group
	Row       uint64 `json:"row"`                 // ordinal of the row in the unit
	SkipRows  uint32 `json:"skipRows"`            // rows to pass over from there
	Boundary  bool   `json:"commitBoundary"`      // nothing of the snapshot was read
	Lineage   string `json:"lineage,omitempty"`   // fingerprint of the history it was made in
	LineageOf int64  `json:"lineageOf,omitempty"` // snapshot that the fingerprint is of
	Text      string `json:"text"`
	Next      string `json:"next"` // what the cursor names, as a sentence
}

// Explain says what the cursor names.
func (c Cursor) Explain() Explanation {
	e := Explanation{
		Version: cursorVersion, Table: fmt.Sprintf("%016x", c.Table), Branch: "main", Snapshot: c.Snapshot, Phase: c.Phase.String(),
		Unit: c.Unit, Row: c.Row, SkipRows: c.Skip, Boundary: c.AtBoundary(), Text: c.String(),
	}
	if c.Branch != 0 {
		e.Branch = fmt.Sprintf("#%08x", c.Branch)
	}
	switch c.markOf {
	case markSelf:
		e.Lineage, e.LineageOf = fmt.Sprintf("%08x", c.mark), c.Snapshot
	case markPrevious:
		e.Lineage, e.LineageOf = fmt.Sprintf("%08x", c.mark), c.Snapshot-1
	}
	what := fmt.Sprintf("the %s of snapshot %d", c.Phase, c.Snapshot)
	if c.Unit == 0 && c.Row == 0 {
		e.Next = "the first row of " + what
	} else {
		e.Next = fmt.Sprintf("row %d of unit %d of %s", c.Row, c.Unit, what)
	}
	if c.Skip > 0 {
		e.Next = fmt.Sprintf("%d rows after %s", c.Skip, e.Next)
	}
	return e
}

// String returns the explanation as aligned lines, each ended by a line break.
func (e Explanation) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s ", name)
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line("next", "%s", e.Next)
	line("table", "%s", e.Table)
	line("branch", "%s", e.Branch)
	line("snapshot", "%d", e.Snapshot)
	line("phase", "%s", e.Phase)
	line("unit", "%d", e.Unit)
	line("row", "%d", e.Row)
	if e.SkipRows > 0 {
		line("skip", "%d rows", e.SkipRows)
	}
	if e.Lineage != "" {
		line("lineage", "%s of snapshot %d", e.Lineage, e.LineageOf)
	}
	line("version", "%d", e.Version)
	return b.String()
}
