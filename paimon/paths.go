package paimon

import (
	"fmt"
	"strconv"
	"sync"

	"sluice/objstore"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// branchDir is the folder of the branch's own metadata: schemas, snapshots,
// changelogs, tags and consumers. Everything else is shared (format section 1.3).
func (t *Table) branchDir() string { return branchDir(t.Path, t.Branch) }

func branchDir(table, branch string) string {
	if branch == MainBranch {
		return table
	}
	return table + "/branch/branch-" + branch
}

// SchemaPath returns the name of a schema version's file.
func (t *Table) SchemaPath(id int64) string {
	return t.branchDir() + "/schema/schema-" + strconv.FormatInt(id, 10)
}

// TagPath returns the name of a tag's file.
func (t *Table) TagPath(tag string) string { return t.branchDir() + "/tag/tag-" + tag }

// ConsumerPath returns the name of a consumer's file.
func (t *Table) ConsumerPath(id string) string { return t.branchDir() + "/consumer/consumer-" + id }

// ManifestPath returns the name of a manifest, manifest list or index manifest
// as snapshots and lists call it.
func (t *Table) ManifestPath(file string) string { return t.Path + "/manifest/" + file }

// StatisticsPath returns the name of a statistics file.
func (t *Table) StatisticsPath(file string) string { return t.Path + "/statistics/" + file }

// DataRoot returns the folder of the partition and bucket folders.
func (t *Table) DataRoot() string {
	if d := t.Options().Text(OptDataFilePathDirectory); d != "" {
		return t.Path + "/" + d
	}
	return t.Path
}

// BucketPath returns the folder of a bucket's files. partition is the row of the
// manifest entry, in manifest form.
func (t *Table) BucketPath(partition []byte, bucket int) string {
	return t.DataRoot() + "/" + t.PartitionText(partition) + BucketName(bucket)
}

// BucketName returns the last segment of a bucket's folder.
func BucketName(bucket int) string {
	if bucket == PostponeBucket {
		return "bucket-postpone"
	}
	return "bucket-" + strconv.Itoa(bucket)
}

// pathCacheMax bounds the partitions whose folders are kept in memory.
const pathCacheMax = 10_000

// pathCache keeps the folders of partitions, since each file of a partition
// asks for the same.
type pathCache struct {
	mu          sync.RWMutex
	names       []string
	types       []*rowdata.Type
	defaultName string
	legacy      bool
	texts       map[string]string
}

// use takes the partition columns of a schema and how their folders are named.
func (c *pathCache) use(s *Schema) {
	legacy, _ := s.Options.Bool(OptPartitionLegacyName)
	defaultName := s.Options.Text(OptPartitionDefaultName)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts != nil && c.legacy == legacy && c.defaultName == defaultName {
		return
	}
	c.names, c.types = s.PartitionKeys, s.PartitionTypes()
	c.defaultName, c.legacy = defaultName, legacy
	c.texts = make(map[string]string)
}

// PartitionText returns the folders of a partition with a slash at the end, such
// as "dt=1/h=2/" (format section 8), or "" if the table has no partitions.
// A row that cannot be read gives a text that names no folder.
func (t *Table) PartitionText(partition []byte) string {
	c := &t.paths
	c.mu.RLock()
	text, ok := c.texts[string(partition)]
	partitioned := len(c.names) > 0
	c.mu.RUnlock()
	if ok || !partitioned {
		return text
	}
	cols, err := t.decodePartition(partition)
	if err != nil {
		return "\x00unreadable partition/"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text = string(rowdata.AppendPartitionPath(nil, c.names, cols, 0, c.defaultName, c.legacy))
	if len(c.texts) >= pathCacheMax {
		clear(c.texts)
	}
	c.texts[string(partition)] = text
	return text
}

// DecodePartition returns the values of a partition row in manifest form, a
// vector of one row for each partition column; nil if the row cannot be read.
func (t *Table) DecodePartition(partition []byte) []*rowdata.Vector {
	cols, err := t.decodePartition(partition)
	if err != nil {
		return nil
	}
	return cols
}

func (t *Table) decodePartition(partition []byte) ([]*rowdata.Vector, error) {
	t.paths.mu.RLock()
	types := t.paths.types
	t.paths.mu.RUnlock()
	cols := make([]*rowdata.Vector, len(types))
	for i, typ := range types {
		cols[i] = rowdata.NewVector(typ, 1)
	}
	if len(cols) == 0 {
		return cols, nil
	}
	if err := rowdata.DecodeManifestRow(partition, cols); err != nil {
		return nil, fmt.Errorf("partition of table %s: %w", t.Path, err)
	}
	return cols, nil
}

// nameOfExternal returns the name of a file that a manifest names by a complete
// path. A path that the store cannot hold is returned as it is, so that opening
// it fails and tells it.
func nameOfExternal(path string) string {
	if name, err := objstore.NameOfURI(path); err == nil {
		return name
	}
	return path
}

// DataFilePath returns the name of an entry's data or changelog file: the
// complete path that the entry has, if any, else its place in the bucket's
// folder (format section 1.4).
func (t *Table) DataFilePath(e *manifest.Entry) string {
	if e.File.ExternalPath != nil {
		return nameOfExternal(*e.File.ExternalPath)
	}
	return t.BucketPath(e.Partition, int(e.Bucket)) + "/" + e.File.FileName
}

// SidecarPath returns the name of one of the entry's extra files, which are in
// the folder of the data file wherever that is.
func (t *Table) SidecarPath(e *manifest.Entry, extra string) string {
	dir, _ := objstore.SplitName(t.DataFilePath(e))
	return objstore.JoinName(dir, extra)
}

// IndexPath returns the name of an index file (format section 11.1).
func (t *Table) IndexPath(e *manifest.IndexEntry) string {
	if e.ExternalPath != nil {
		return nameOfExternal(*e.ExternalPath)
	}
	if inData, _ := t.Options().Bool(OptIndexFileInDataFileDir); inData {
		return t.BucketPath(e.Partition, int(e.Bucket)) + "/" + e.FileName
	}
	return t.Path + "/index/" + e.FileName
}
