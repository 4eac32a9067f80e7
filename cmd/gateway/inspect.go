package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

func (a *app) inspectCommand() *cobra.Command {
	file := func(use, short string, show func(cmd *cobra.Command, data []byte, t *paimon.Table) error) *cobra.Command {
		return &cobra.Command{Use: use + " PATH", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			if err := show(cmd, data, a.tableOf(cmd.Context(), args[0])); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		}}
	}
	return group("inspect", "Decode any file of a table, or a cursor",
		file("snapshot", "Show a snapshot, tag or changelog file", func(cmd *cobra.Command, data []byte, _ *paimon.Table) error {
			s, err := paimon.ParseSnapshot(data)
			if err != nil {
				return err
			}
			return a.printDocument(cmd, s)
		}),
		file("schema", "Show a schema file", func(cmd *cobra.Command, data []byte, _ *paimon.Table) error {
			s, err := paimon.ParseSchema(data)
			if err != nil {
				return err
			}
			return a.printDocument(cmd, s)
		}),
		file("manifest-list", "Show the manifests that a manifest list names", a.inspectList),
		file("manifest", "Show the entries of a manifest", a.inspectManifest),
		file("index-manifest", "Show the index files of a snapshot", a.inspectIndex),
		a.inspectDatafile(),
		&cobra.Command{Use: "cursor TEXT", Short: "Explain a cursor", Args: cobra.ExactArgs(1), RunE: a.inspectCursor},
	)
}

// tableOf opens the table that a file lies in, so that partitions and keys can
// be shown as values; nil if there is none.
func (a *app) tableOf(ctx context.Context, file string) *paimon.Table {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil
	}
	for dir := filepath.Dir(abs); len(dir) > 1; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "schema", "schema-0")); err == nil {
			t, err := paimon.Open(ctx, a.store(), strings.TrimPrefix(filepath.ToSlash(dir), "/"), paimon.MainBranch)
			if err != nil {
				return nil
			}
			return t
		}
	}
	return nil
}

func (a *app) inspectList(cmd *cobra.Command, data []byte, t *paimon.Table) error {
	metas, err := manifest.DecodeList(data)
	if err != nil {
		return err
	}
	g := newGrid("manifest", "size", "added", "deleted", "schema", "buckets", "levels", "partitions")
	for i := range metas {
		m := &metas[i]
		parts := partitionRange(t, m.PartitionStats)
		if a.json {
			err := writeJSON(cmd.OutOrStdout(), map[string]any{
				"file": m.FileName, "size": m.FileSize, "added": m.NumAdded, "deleted": m.NumDeleted, "schemaId": m.SchemaID,
				"minBucket": m.MinBucket, "maxBucket": m.MaxBucket, "minLevel": m.MinLevel, "maxLevel": m.MaxLevel, "partitions": parts,
			})
			if err != nil {
				return err
			}
			continue
		}
		g.add(m.FileName, m.FileSize, m.NumAdded, m.NumDeleted, m.SchemaID, rangeText(m.MinBucket, m.MaxBucket), rangeText(m.MinLevel, m.MaxLevel), parts)
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}

func rangeText(low, high *int32) string {
	switch {
	case low == nil || high == nil:
		return "?"
	case *low == *high:
		return fmt.Sprint(*low)
	}
	return fmt.Sprintf("%d–%d", *low, *high)
}

func partitionRange(t *paimon.Table, s manifest.Stats) string {
	if t == nil {
		return hex.EncodeToString(s.Min)
	}
	low, high := rowText(s.Min, t.Schema().PartitionTypes()), rowText(s.Max, t.Schema().PartitionTypes())
	if low == high {
		return low
	}
	return low + " – " + high
}

// rowText renders a row in manifest form as a JSON list.
func rowText(row []byte, types []*rowdata.Type) string {
	cols := make([]*rowdata.Vector, len(types))
	for i, typ := range types {
		cols[i] = rowdata.NewVector(typ.Nullable(), 1)
	}
	if err := rowdata.DecodeManifestRow(row, cols); err != nil {
		return hex.EncodeToString(row)
	}
	out := []byte{'['}
	for i, v := range cols {
		if i > 0 {
			out = append(out, ',')
		}
		out = rowdata.AppendJSON(out, v, 0)
	}
	return string(append(out, ']'))
}

func (a *app) inspectManifest(cmd *cobra.Command, data []byte, t *paimon.Table) error {
	entries, err := manifest.ReadEntries(data)
	if err != nil {
		return err
	}
	g := newGrid("", "file", "partition", "bucket", "level", "rows", "deletes", "size", "sequence", "keys", "schema")
	for i := range entries {
		e := &entries[i]
		if a.json {
			if err := writeJSON(cmd.OutOrStdout(), entryJSON(cmd.Context(), e, t)); err != nil {
				return err
			}
			continue
		}
		f := &e.File
		g.add(e.Kind, f.FileName, partitionText(e.Partition, t), e.Bucket, f.Level, f.RowCount, countText(f.DeleteRowCount), size(f.FileSize),
			fmt.Sprintf("%d–%d", f.MinSeq, f.MaxSeq), keyText(cmd.Context(), f, f.MinKey, t)+" – "+keyText(cmd.Context(), f, f.MaxKey, t), f.SchemaID)
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}

func partitionText(partition []byte, t *paimon.Table) string {
	if t == nil {
		return hex.EncodeToString(partition)
	}
	return strings.TrimSuffix(t.PartitionText(partition), "/")
}

// keyText renders a key of a file by the schema that the file was written with.
func keyText(ctx context.Context, f *manifest.DataFile, key []byte, t *paimon.Table) string {
	if t == nil {
		return hex.EncodeToString(key)
	}
	s, err := t.SchemaByID(ctx, f.SchemaID)
	if err != nil || !s.HasPrimaryKey() {
		return ""
	}
	types := make([]*rowdata.Type, 0, len(s.PrimaryKeys))
	for _, c := range s.TrimmedKey() {
		types = append(types, s.Fields[c].Type)
	}
	return rowText(key, types)
}

func entryJSON(ctx context.Context, e *manifest.Entry, t *paimon.Table) map[string]any {
	f := &e.File
	line := map[string]any{
		"kind": e.Kind.String(), "partition": partitionText(e.Partition, t), "bucket": e.Bucket, "totalBuckets": e.TotalBuckets, "level": f.Level,
		"file": f.FileName, "size": f.FileSize, "rowCount": f.RowCount, "deleteRowCount": f.DeleteRowCount,
		"minSequence": f.MinSeq, "maxSequence": f.MaxSeq, "schemaId": f.SchemaID, "extraFiles": f.ExtraFiles,
	}
	if low := keyText(ctx, f, f.MinKey, t); strings.HasPrefix(low, "[") {
		line["minKey"] = json.RawMessage(low)
		line["maxKey"] = json.RawMessage(keyText(ctx, f, f.MaxKey, t))
	}
	if f.Source != nil {
		line["source"] = f.Source.String()
	}
	if f.HasValueStatsCols {
		line["valueStatsCols"] = f.ValueStatsCols
	}
	if f.ExternalPath != nil {
		line["externalPath"] = *f.ExternalPath
	}
	return line
}

func (a *app) inspectIndex(cmd *cobra.Command, data []byte, t *paimon.Table) error {
	entries, err := manifest.DecodeIndex(data)
	if err != nil {
		return err
	}
	g := newGrid("type", "file", "partition", "bucket", "rows", "size", "vectors")
	for i := range entries {
		e := &entries[i]
		if a.json {
			vectors := make([]map[string]any, 0, len(e.DVRanges))
			for _, r := range e.DVRanges {
				vectors = append(vectors, map[string]any{"dataFile": r.DataFile, "offset": r.Offset, "length": r.Length, "cardinality": r.Cardinality})
			}
			err := writeJSON(cmd.OutOrStdout(), map[string]any{
				"type": e.Type, "file": e.FileName, "partition": partitionText(e.Partition, t), "bucket": e.Bucket, "rowCount": e.RowCount, "size": e.FileSize, "vectors": vectors,
			})
			if err != nil {
				return err
			}
			continue
		}
		g.add(e.Type, e.FileName, partitionText(e.Partition, t), e.Bucket, e.RowCount, size(e.FileSize), len(e.DVRanges))
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}

func (a *app) inspectCursor(cmd *cobra.Command, args []string) error {
	c, err := snapshotreader.ParseCursor(args[0])
	if err != nil {
		var bad *snapshotreader.CursorInvalidError
		if errors.As(err, &bad) {
			return &usageError{err}
		}
		return err
	}
	e := c.Explain()
	if a.json {
		return writeJSON(cmd.OutOrStdout(), e)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), e)
	return err
}
