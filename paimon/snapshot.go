package paimon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// CommitKind says what a snapshot did to the table (format section 3.1).
type CommitKind string

// The kinds of commit.
const (
	CommitAppend    CommitKind = "APPEND"    // delta adds files only
	CommitCompact   CommitKind = "COMPACT"   // same rows in other files
	CommitOverwrite CommitKind = "OVERWRITE" // content replaced
	CommitAnalyze   CommitKind = "ANALYZE"   // new statistics only
)

const (
	// SnapshotVersion is the layout version that writers put into snapshots.
	SnapshotVersion = 3
	// FirstSnapshotID is the number of the first snapshot of a table.
	FirstSnapshotID = 1
	// BatchCommitIdentifier is the commit identifier of commits that are not part of
	// a sequence: batch writes, manifest compaction, rollback.
	BatchCommitIdentifier = math.MaxInt64
	// UnknownWatermark in a snapshot file means the same as no watermark.
	UnknownWatermark = math.MinInt64
)

// Snapshot is one version of a table: the content of snapshot/snapshot-N and
// changelog/changelog-N (format section 3.1). Names of manifest lists have no
// folder. A nil pointer means that the file does not have the key, or null.
type Snapshot struct {
	Version                   int
	UUID                      *string // of this very snapshot; newest writers only
	ID                        int64
	SchemaID                  int64  // newest schema at commit time, not that of the files
	BaseManifestList          string // changes of all earlier snapshots
	BaseManifestListSize      *int64 // bytes
	DeltaManifestList         string // changes of this snapshot
	DeltaManifestListSize     *int64 // bytes
	ChangelogManifestList     *string
	ChangelogManifestListSize *int64 // bytes
	IndexManifest             *string
	CommitUser                string
	WriterVersion             *string
	CommitIdentifier          int64
	CommitKind                CommitKind
	TimeMillis                int64  // commit time, epoch milliseconds UTC
	TotalRecordCount          *int64 // physical rows
	DeltaRecordCount          *int64 // rows of added minus rows of deleted files
	ChangelogRecordCount      *int64
	Watermark                 *int64 // epoch milliseconds; see EventTime
	Statistics                *string
	Properties                map[string]string
	NextRowID                 *int64
	Operation                 *string
}

// Time returns the commit time.
func (s *Snapshot) Time() time.Time { return time.UnixMilli(s.TimeMillis) }

// HasChangelog tells whether the snapshot has changelog files.
func (s *Snapshot) HasChangelog() bool {
	return s.ChangelogManifestList != nil && *s.ChangelogManifestList != ""
}

// EventTime returns the watermark; ok is false if it is unknown.
func (s *Snapshot) EventTime() (millis int64, ok bool) {
	if s.Watermark == nil || *s.Watermark == UnknownWatermark {
		return 0, false
	}
	return *s.Watermark, true
}

// snapshotJSON has the keys in the order in which writers emit them. Keys that
// must be there are pointers too, so that a reader notices their absence.
type snapshotJSON struct {
	Version                   *int              `json:"version,omitempty"`
	UUID                      *string           `json:"uuid,omitempty"`
	ID                        *int64            `json:"id"`
	SchemaID                  *int64            `json:"schemaId"`
	BaseManifestList          *string           `json:"baseManifestList"`
	BaseManifestListSize      *int64            `json:"baseManifestListSize,omitempty"`
	DeltaManifestList         *string           `json:"deltaManifestList"`
	DeltaManifestListSize     *int64            `json:"deltaManifestListSize,omitempty"`
	ChangelogManifestList     *string           `json:"changelogManifestList,omitempty"`
	ChangelogManifestListSize *int64            `json:"changelogManifestListSize,omitempty"`
	IndexManifest             *string           `json:"indexManifest,omitempty"`
	CommitUser                *string           `json:"commitUser"`
	WriterVersion             *string           `json:"writerVersion,omitempty"`
	CommitIdentifier          *int64            `json:"commitIdentifier"`
	CommitKind                *CommitKind       `json:"commitKind"`
	TimeMillis                *int64            `json:"timeMillis"`
	TotalRecordCount          *int64            `json:"totalRecordCount"`
	DeltaRecordCount          *int64            `json:"deltaRecordCount"`
	ChangelogRecordCount      *int64            `json:"changelogRecordCount,omitempty"`
	Watermark                 *int64            `json:"watermark,omitempty"`
	Statistics                *string           `json:"statistics,omitempty"`
	Properties                map[string]string `json:"properties,omitempty"`
	NextRowID                 *int64            `json:"nextRowId,omitempty"`
	Operation                 *string           `json:"operation,omitempty"`
}

// tagJSON is the content of a tag file: a snapshot and two more keys
// (format section 3.6).
type tagJSON struct {
	snapshotJSON
	CreateTime   []int        `json:"tagCreateTime,omitempty"`
	TimeRetained *json.Number `json:"tagTimeRetained,omitempty"`
}

func (s *Snapshot) wire() snapshotJSON {
	return snapshotJSON{
		Version: &s.Version, UUID: s.UUID, ID: &s.ID, SchemaID: &s.SchemaID,
		BaseManifestList: &s.BaseManifestList, BaseManifestListSize: s.BaseManifestListSize,
		DeltaManifestList: &s.DeltaManifestList, DeltaManifestListSize: s.DeltaManifestListSize,
		ChangelogManifestList: s.ChangelogManifestList, ChangelogManifestListSize: s.ChangelogManifestListSize,
		IndexManifest: s.IndexManifest, CommitUser: &s.CommitUser, WriterVersion: s.WriterVersion,
		CommitIdentifier: &s.CommitIdentifier, CommitKind: &s.CommitKind, TimeMillis: &s.TimeMillis,
		TotalRecordCount: s.TotalRecordCount, DeltaRecordCount: s.DeltaRecordCount,
		ChangelogRecordCount: s.ChangelogRecordCount, Watermark: s.Watermark, Statistics: s.Statistics,
		Properties: s.Properties, NextRowID: s.NextRowID, Operation: s.Operation,
	}
}

func (w *snapshotJSON) snapshot() (*Snapshot, error) {
	missing := ""
	for _, k := range []struct {
		name string
		null bool
	}{
		{"id", w.ID == nil},
		{"schemaId", w.SchemaID == nil},
		{"baseManifestList", w.BaseManifestList == nil},
		{"deltaManifestList", w.DeltaManifestList == nil},
		{"commitUser", w.CommitUser == nil},
		{"commitIdentifier", w.CommitIdentifier == nil},
		{"commitKind", w.CommitKind == nil},
		{"timeMillis", w.TimeMillis == nil},
	} {
		if k.null && missing == "" {
			missing = k.name
		}
	}
	if missing != "" {
		return nil, fmt.Errorf("snapshot: key %s is missing: %w", missing, ErrCorrupt)
	}
	if *w.ID < FirstSnapshotID {
		return nil, fmt.Errorf("snapshot: id is %d, want at least %d: %w", *w.ID, FirstSnapshotID, ErrCorrupt)
	}
	switch *w.CommitKind {
	case CommitAppend, CommitCompact, CommitOverwrite, CommitAnalyze:
	default:
		return nil, fmt.Errorf("snapshot %d: commitKind %q is not known: %w", *w.ID, *w.CommitKind, ErrCorrupt)
	}
	s := &Snapshot{
		Version: 1, UUID: w.UUID, ID: *w.ID, SchemaID: *w.SchemaID,
		BaseManifestList: *w.BaseManifestList, BaseManifestListSize: w.BaseManifestListSize,
		DeltaManifestList: *w.DeltaManifestList, DeltaManifestListSize: w.DeltaManifestListSize,
		ChangelogManifestList: w.ChangelogManifestList, ChangelogManifestListSize: w.ChangelogManifestListSize,
		IndexManifest: w.IndexManifest, CommitUser: *w.CommitUser, WriterVersion: w.WriterVersion,
		CommitIdentifier: *w.CommitIdentifier, CommitKind: *w.CommitKind, TimeMillis: *w.TimeMillis,
		TotalRecordCount: w.TotalRecordCount, DeltaRecordCount: w.DeltaRecordCount,
		ChangelogRecordCount: w.ChangelogRecordCount, Watermark: w.Watermark, Statistics: w.Statistics,
		Properties: w.Properties, NextRowID: w.NextRowID, Operation: w.Operation,
	}
	if w.Version != nil {
		s.Version = *w.Version
	}
	return s, nil
}

// Marshal returns the content of the snapshot's file: its keys in the order of
// format section 3.1, laid out as the original does.
func (s *Snapshot) Marshal() ([]byte, error) { return marshalIndented(s.wire()) }

// MarshalJSON returns the same object without white space.
func (s *Snapshot) MarshalJSON() ([]byte, error) { return marshalCompact(s.wire()) }

// UnmarshalJSON reads a snapshot file of any version. Keys may come in any order
// and unknown ones are ignored; nulls and the keys that old writers add are
// accepted. Errors are [ErrCorrupt].
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	var w snapshotJSON
	if err := unmarshalOne(data, &w); err != nil {
		return fmt.Errorf("snapshot: %w: %w", ErrCorrupt, err)
	}
	got, err := w.snapshot()
	if err != nil {
		return err
	}
	*s = *got
	return nil
}

// ParseSnapshot reads the content of a snapshot or changelog file.
func ParseSnapshot(data []byte) (*Snapshot, error) {
	s := new(Snapshot)
	if err := s.UnmarshalJSON(bytes.TrimSpace(data)); err != nil {
		return nil, err
	}
	return s, nil
}
