package manifest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// EntryKind says whether an entry adds or deletes its file.
type EntryKind uint8

// The kinds of entries, with the numbers of the format.
const (
	Add    EntryKind = 0
	Delete EntryKind = 1
)

// String returns ADD or DELETE.
func (k EntryKind) String() string {
	switch k {
	case Add:
		return "ADD"
	case Delete:
		return "DELETE"
	}
	return fmt.Sprintf("EntryKind(%d)", uint8(k))
}

// FileSource says what wrote a file.
type FileSource int32

// The sources, with the numbers of the format.
const (
	SourceAppend  FileSource = 0
	SourceCompact FileSource = 1
)

// String returns APPEND or COMPACT.
func (s FileSource) String() string {
	switch s {
	case SourceAppend:
		return "APPEND"
	case SourceCompact:
		return "COMPACT"
	}
	return fmt.Sprintf("FileSource(%d)", int32(s))
}

// Stats are minimum, maximum and number of NULLs of some columns (format section
// 5.5).
type Stats struct {
	Min, Max   []byte  // rows in manifest form; nil is written as the empty row
	NullCounts []int64 // by column; -1: unknown. nil: no information at all
}

// DataFile is what a manifest tells of a data or changelog file (format section
// 5.3). Byte slices and strings of a decoded DataFile share memory with those of
// its neighbours and must not be changed.
type DataFile struct {
	FileName          string
	FileSize          int64  // bytes
	RowCount          int64  // physical rows, deletes included
	MinKey, MaxKey    []byte // trimmed primary key in manifest form; append tables: the empty row
	KeyStats          Stats
	ValueStats        Stats
	MinSeq, MaxSeq    int64
	SchemaID          int64 // of the schema the file was written with
	Level             int32
	ExtraFiles        []string // sidecar files in the same folder
	CreationTime      int64    // the writer's local wall clock as if it were UTC, epoch milliseconds
	HasCreationTime   bool
	DeleteRowCount    *int64 // rows that retract; nil: unknown
	EmbeddedIndex     []byte // file index container; nil: none
	Source            *FileSource
	ValueStatsCols    []string // the columns of ValueStats
	HasValueStatsCols bool     // false: ValueStats covers all columns
	ExternalPath      *string  // complete path of a file outside the table
	FirstRowID        *int64   // row tracking
	WriteCols         []string // columns in the file
	HasWriteCols      bool     // false: all columns
	WriteColSeqs      []int64  // data evolution; nil: none
}

// Entry adds a file to a bucket or deletes it.
type Entry struct {
	Kind         EntryKind
	Partition    []byte // manifest form; not partitioned: the empty row
	Bucket       int32  // -2: the postpone bucket
	TotalBuckets int32  // of the partition when the file was written; -1: dynamic, -2: postponed
	File         DataFile
}

// Identity returns a text that is equal for two entries exactly if they mean the
// same file at the same place in the tree (format section 5.4): partition,
// bucket, level, name, extra files, embedded index and external path. The kind
// is not part of it. The text is for use as a map key.
func (e *Entry) Identity() string {
	var space [192]byte
	return string(e.appendIdentity(space[:0]))
}

func (e *Entry) appendIdentity(b []byte) []byte {
	f := &e.File
	b = append(b, f.FileName...) // first, as it is what tells entries apart
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Bucket))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.Level))
	b = binary.AppendUvarint(b, uint64(len(e.Partition)))
	b = append(b, e.Partition...)
	b = binary.AppendUvarint(b, uint64(len(f.ExtraFiles)))
	for _, x := range f.ExtraFiles {
		b = binary.AppendUvarint(b, uint64(len(x)))
		b = append(b, x...)
	}
	if f.EmbeddedIndex != nil {
		b = append(b, 1)
		b = binary.AppendUvarint(b, uint64(len(f.EmbeddedIndex)))
		b = append(b, f.EmbeddedIndex...)
	}
	if f.ExternalPath != nil {
		b = append(b, 2)
		b = append(b, *f.ExternalPath...)
	}
	return b
}

// Clone returns a copy that shares no memory with the manifest the entry was
// decoded from. Keep clones, not entries, of a few files out of many.
func (e *Entry) Clone() Entry {
	c := *e
	c.Partition = slices.Clone(e.Partition)
	c.File = e.File.Clone()
	return c
}

// Clone returns a copy that shares no memory with the manifest it was decoded
// from.
func (f *DataFile) Clone() DataFile {
	c := *f
	c.FileName = strings.Clone(f.FileName)
	c.MinKey, c.MaxKey = slices.Clone(f.MinKey), slices.Clone(f.MaxKey)
	c.KeyStats, c.ValueStats = f.KeyStats.clone(), f.ValueStats.clone()
	c.ExtraFiles = cloneStrings(f.ExtraFiles)
	c.EmbeddedIndex = slices.Clone(f.EmbeddedIndex)
	c.ValueStatsCols, c.WriteCols = cloneStrings(f.ValueStatsCols), cloneStrings(f.WriteCols)
	c.WriteColSeqs = slices.Clone(f.WriteColSeqs)
	c.DeleteRowCount, c.Source, c.FirstRowID = clonePtr(f.DeleteRowCount), clonePtr(f.Source), clonePtr(f.FirstRowID)
	if f.ExternalPath != nil {
		path := strings.Clone(*f.ExternalPath)
		c.ExternalPath = &path
	}
	return c
}

func (s Stats) clone() Stats {
	return Stats{Min: slices.Clone(s.Min), Max: slices.Clone(s.Max), NullCounts: slices.Clone(s.NullCounts)}
}

func cloneStrings(list []string) []string {
	c := slices.Clone(list)
	for i := range c {
		c[i] = strings.Clone(c[i])
	}
	return c
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Meta is an entry of a manifest list: a manifest and what is in it (format
// section 5.2).
type Meta struct {
	FileName             string
	FileSize             int64 // bytes
	NumAdded, NumDeleted int64 // entries
	PartitionStats       Stats
	SchemaID             int64  // the largest of the entries
	MinBucket, MaxBucket *int32 // nil, here and below: unknown
	MinLevel, MaxLevel   *int32
	MinRowID, MaxRowID   *int64
}

// IndexEntry is an index file of a snapshot (format section 11.1).
type IndexEntry struct {
	Kind         EntryKind
	Partition    []byte // manifest form
	Bucket       int32
	Type         string // HASH, DELETION_VECTORS, or the name of a global index
	FileName     string
	FileSize     int64
	RowCount     int64     // HASH: hashes; DELETION_VECTORS: vectors
	DVRanges     []DVRange // DELETION_VECTORS only; nil: none
	ExternalPath *string
	Global       *GlobalIndex
}

// The types of index files that belong to buckets.
const (
	IndexHash            = "HASH"
	IndexDeletionVectors = "DELETION_VECTORS"
)

// DVRange says where the deletion vector of a data file is in an index file.
type DVRange struct {
	DataFile       string
	Offset, Length int32  // of different meaning for the two formats: format section 11.4
	Cardinality    *int64 // deleted rows; nil: unknown
}

// GlobalIndex describes a global index file.
type GlobalIndex struct {
	RowRangeStart, RowRangeEnd int64
	FieldID                    int32
	ExtraFieldIDs              []int32 // nil: none
	Meta                       []byte  // nil: none
	SourceMeta                 []byte  // nil: none
}
