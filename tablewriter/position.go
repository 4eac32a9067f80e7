package tablewriter

import (
	"fmt"
	"maps"
	"strings"

	"sluice/paimon"
)

// Keys of snapshot properties that a writer sets. Each snapshot of a user has
// the newest positions of all its sources.
const (
	// PropertyPosition and the name of a source is the key of its position.
	PropertyPosition = "sluice.position."
	// PropertyWriter names the writer that made the snapshot: a new text for
	// each Open. Two writers of one user are told apart by it.
	PropertyWriter = "sluice.writer"
)

// Bounds of positions, which every snapshot carries.
const (
	PositionBytesMax = 16 << 10 // of a position's value
	SourceBytesMax   = 256      // of a source's name
	SourcesMax       = 256      // of a user
)

// Position says how far a source has been read once a batch is committed. The
// zero value means that the batch has none.
type Position struct {
	Source string // name of the source, such as a topic and partition
	Value  string // for the source to read; the writer does not look into it
}

// IsZero tells whether there is no position.
func (p Position) IsZero() bool { return p == Position{} }

func (p Position) check() error {
	switch {
	case len(p.Source) > SourceBytesMax:
		return &BatchError{Reason: fmt.Sprintf("name of the source has %d bytes, at most %d are kept", len(p.Source), SourceBytesMax)}
	case len(p.Value) > PositionBytesMax:
		return &BatchError{Reason: fmt.Sprintf("position of source %s has %d bytes, at most %d are kept", p.Source, len(p.Value), PositionBytesMax)}
	}
	return nil
}

// RestorePoint is what a user's newest snapshot says.
type RestorePoint struct {
	Snapshot   int64             // 0: this user has no snapshot
	Identifier int64             // commit identifier of that snapshot
	Positions  map[string]string // by source; never nil
}

// Position returns the committed position of a source.
func (r *RestorePoint) Position(source string) (Position, bool) {
	v, ok := r.Positions[source]
	return Position{Source: source, Value: v}, ok
}

func restorePoint(s *paimon.Snapshot) RestorePoint {
	r := RestorePoint{Positions: map[string]string{}}
	if s == nil {
		return r
	}
	r.Snapshot, r.Identifier = s.ID, s.CommitIdentifier
	for k, v := range s.Properties {
		if source, ok := strings.CutPrefix(k, PropertyPosition); ok {
			r.Positions[source] = v
		}
	}
	return r
}

// properties returns what a snapshot with these positions carries.
func properties(session string, positions map[string]string) map[string]string {
	p := make(map[string]string, len(positions)+2)
	p[PropertyWriter] = session
	for source, v := range positions {
		p[PropertyPosition+source] = v
	}
	return p
}

// merged returns the positions with newer ones put over them.
func merged(positions, newer map[string]string) map[string]string {
	m := maps.Clone(positions)
	maps.Copy(m, newer)
	return m
}
