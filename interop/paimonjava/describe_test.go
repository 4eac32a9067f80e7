//go:build interop

package paimonjava

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// description is what `oracle describe` tells of a table or branch, as far as it
// is compared here.
type description struct {
	SchemaID  int64          `json:"schemaId"`
	Fields    []fieldInfo    `json:"fields"`
	PK        []string       `json:"primaryKey"`
	Partition []string       `json:"partition"`
	Mode      string         `json:"bucketMode"`
	Snapshots []snapshotInfo `json:"snapshots"`
	Decoupled []struct {
		ID   int64  `json:"id"`
		Kind string `json:"kind"`
	} `json:"decoupledChangelogs"`
	Tags      map[string]stateInfo    `json:"tags"`
	Consumers map[string]int64        `json:"consumers"`
	Branches  map[string]*description `json:"branches"`
	Files     []fileInfo              `json:"files"`
}

type fieldInfo struct {
	ID      int     `json:"id"`
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Comment string  `json:"comment"`
	Default *string `json:"default"`
}

type snapshotInfo struct {
	ID               int64             `json:"id"`
	Kind             string            `json:"kind"`
	SchemaID         int64             `json:"schemaId"`
	User             string            `json:"user"`
	Identifier       int64             `json:"identifier"`
	TotalRecords     *int64            `json:"totalRecordCount"`
	DeltaRecords     *int64            `json:"deltaRecordCount"`
	ChangelogRecords *int64            `json:"changelogRecordCount"`
	Rows             []json.RawMessage `json:"rows"`
}

type stateInfo struct {
	Snapshot int64             `json:"snapshot"`
	Rows     []json.RawMessage `json:"rows"`
}

type fileInfo struct {
	Index        string `json:"index"`
	Partition    string `json:"partition"`
	Bucket       int32  `json:"bucket"`
	TotalBuckets int32  `json:"totalBuckets"`
	Level        int32  `json:"level"`
	File         string `json:"file"`
	Size         int64  `json:"size"`
	Rows         int64  `json:"rowCount"`
	Deletes      *int64 `json:"deleteRowCount"`
	MinSequence  int64  `json:"minSequence"`
	MaxSequence  int64  `json:"maxSequence"`
	SchemaID     int64  `json:"schemaId"`
}

// sameDescription compares all that Java finds in the folder with what we find:
// schema, snapshots and their rows, tags, consumers, branches, live files.
func (f *table) sameDescription() {
	f.Helper()
	var java description
	text := strings.Join(f.java("describe", f.dir), "\n")
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	require.NoError(f, d.Decode(&java))
	ours := f.describe("")
	names, err := f.open("").Branches(f.Context())
	require.NoError(f, err)
	require.ElementsMatch(f, slices.Collect(maps.Keys(java.Branches)), names)
	for _, name := range names {
		f.sameParts("branch "+name, java.Branches[name], f.describe(name))
	}
	java.Branches = nil
	f.sameParts("main", &java, ours)
}

func (f *table) sameParts(what string, java, ours *description) {
	f.Helper()
	require.Equal(f, java.SchemaID, ours.SchemaID, what)
	require.Equal(f, java.Fields, ours.Fields, what)
	require.ElementsMatch(f, java.PK, ours.PK, what)
	require.ElementsMatch(f, java.Partition, ours.Partition, what)
	require.Equal(f, java.Mode, ours.Mode, what)
	require.Len(f, ours.Snapshots, len(java.Snapshots), what)
	for i := range java.Snapshots {
		j, o := &java.Snapshots[i], &ours.Snapshots[i]
		f.same(fmt.Sprintf("%s: rows of snapshot %d", what, j.ID), texts(j.Rows), texts(o.Rows))
		j.Rows, o.Rows = nil, nil
		if j.ChangelogRecords != nil && *j.ChangelogRecords == 0 {
			j.ChangelogRecords = o.ChangelogRecords // 0 and nothing are the same
		}
		require.Equal(f, j, o, what)
	}
	require.Equal(f, java.Decoupled, ours.Decoupled, what)
	require.Len(f, ours.Tags, len(java.Tags), what)
	for name, j := range java.Tags {
		require.Equal(f, j.Snapshot, ours.Tags[name].Snapshot, "%s: tag %s", what, name)
		f.same(what+": rows of tag "+name, texts(j.Rows), texts(ours.Tags[name].Rows))
	}
	require.Equal(f, len(java.Consumers), len(ours.Consumers), what)
	for id, next := range java.Consumers {
		require.Equal(f, next, ours.Consumers[id], "%s: consumer %s", what, id)
	}
	require.ElementsMatch(f, java.Files, ours.Files, what)
}

func texts(rows []json.RawMessage) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = string(r)
	}
	slices.Sort(out)
	return out
}

// describe finds out the same as Java does.
func (f *table) describe(branch string) *description {
	f.Helper()
	ctx, t := f.Context(), f.open(branch)
	s := t.Schema()
	d := &description{SchemaID: s.ID, PK: s.PrimaryKeys, Partition: s.PartitionKeys, Mode: s.BucketMode().String(), Tags: map[string]stateInfo{}, Consumers: map[string]int64{}}
	for _, field := range s.Fields {
		d.Fields = append(d.Fields, fieldInfo{field.ID, field.Name, field.Type.String(), field.Description, field.Default})
	}
	ids, err := t.SnapshotIDs(ctx)
	require.NoError(f, err)
	var last *paimon.Snapshot
	for _, id := range ids {
		last, err = t.Snapshot(ctx, id)
		require.NoError(f, err)
		d.Snapshots = append(d.Snapshots, snapshotInfo{
			last.ID, string(last.CommitKind), last.SchemaID, last.CommitUser, last.CommitIdentifier,
			last.TotalRecordCount, last.DeltaRecordCount, last.ChangelogRecordCount, f.rawRows(t, last),
		})
	}
	logs, err := t.ChangelogIDs(ctx)
	require.NoError(f, err)
	for _, id := range logs {
		log, err := t.Changelog(ctx, id)
		require.NoError(f, err)
		if !slices.Contains(ids, id) {
			d.Decoupled = append(d.Decoupled, struct {
				ID   int64  `json:"id"`
				Kind string `json:"kind"`
			}{id, string(log.CommitKind)})
		}
	}
	tags, err := t.Tags(ctx)
	require.NoError(f, err)
	for _, tag := range tags {
		d.Tags[tag.Name] = stateInfo{tag.Snapshot.ID, f.rawRows(t, tag.Snapshot)}
	}
	consumers, err := t.Consumers(ctx)
	require.NoError(f, err)
	for _, c := range consumers {
		d.Consumers[c.ID] = c.NextSnapshot
	}
	if last != nil {
		entries, err := t.LiveEntries(ctx, last, paimon.Filter{})
		require.NoError(f, err)
		for i := range entries {
			e := &entries[i]
			d.Files = append(d.Files, fileInfo{
				Partition: strings.TrimSuffix(t.PartitionText(e.Partition), "/"), Bucket: e.Bucket, TotalBuckets: e.TotalBuckets,
				Level: e.File.Level, File: e.File.FileName, Size: e.File.FileSize, Rows: e.File.RowCount, Deletes: e.File.DeleteRowCount,
				MinSequence: e.File.MinSeq, MaxSequence: e.File.MaxSeq, SchemaID: e.File.SchemaID,
			})
		}
	}
	return d
}

// rawRows reads the rows of a snapshot in its own schema, as lists.
func (f *table) rawRows(t *paimon.Table, snap *paimon.Snapshot) []json.RawMessage {
	f.Helper()
	var out []json.RawMessage
	f.scan(t, snap, snapshotreader.ScanSpec{}, func(b *rowdata.Batch, i int) {
		out = append(out, rowdata.AppendJSONArray(nil, b, i))
	})
	return out
}
