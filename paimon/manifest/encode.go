package manifest

import (
	"sluice/paimon/internal/ocf"
)

// Options say how files are written. The zero value is what tables have by
// default.
type Options struct {
	// Compression is the value of the table option manifest.compression: zstd
	// (also ""), snappy, deflate, none.
	Compression string
	// ZstdLevel is the level of zstd; 0 is 1.
	ZstdLevel int
	// ColumnSequences writes the field _WRITE_COLS_SEQUENCES, which came later
	// than the others. [EncodeEntries] writes it whenever an entry has some; an
	// [EntryWriter] cannot know.
	ColumnSequences bool
}

// blockBytes is the size, not compressed, at which a block is closed.
const blockBytes = 64_000

// codec returns the name of the compression in an Avro file, or an error that
// says that it is not supported.
func (o Options) codec() (string, error) {
	codec := o.Compression
	switch codec {
	case "", "zstd", ocf.CodecZstd:
		return ocf.CodecZstd, nil
	case "none", "null", "uncompressed":
		return ocf.CodecNull, nil
	case "gzip", "zlib":
		return ocf.CodecDeflate, nil
	}
	return codec, ocf.CheckCodec(codec)
}

// container collects records into the bytes of a file.
type container struct {
	codec   string
	level   int
	sync    ocf.Sync
	out     []byte // header and closed blocks
	block   []byte // records of the open block
	count   int
	scratch []byte
	err     error
}

func (c *container) begin(o Options, schema string) error {
	codec, err := o.codec()
	if err != nil {
		return err
	}
	c.codec, c.level, c.sync = codec, max(o.ZstdLevel, 1), ocf.NewSync()
	c.out = ocf.AppendHeader(make([]byte, 0, len(schema)+2048), schema, codec, c.sync)
	return nil
}

// closeRecord counts a record that was appended to block.
func (c *container) closeRecord() {
	if c.count++; len(c.block) >= blockBytes {
		c.closeBlock()
	}
}

func (c *container) closeBlock() {
	if c.count == 0 || c.err != nil {
		return
	}
	c.out, c.scratch, c.err = ocf.AppendBlock(c.out, c.count, c.block, c.codec, c.level, c.sync, c.scratch)
	c.block, c.count = c.block[:0], 0
}

// bytes ends the file.
func (c *container) bytes() ([]byte, error) {
	c.closeBlock()
	return c.out, c.err
}

// EncodeEntries returns a manifest of the entries in the given order.
func EncodeEntries(entries []Entry, o Options) ([]byte, error) {
	for i := range entries {
		o.ColumnSequences = o.ColumnSequences || entries[i].File.WriteColSeqs != nil
	}
	w, err := NewEntryWriter(o)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		w.Add(&entries[i])
	}
	return w.Finish()
}

// EntryWriter writes a manifest whose entries are not all at hand at once.
type EntryWriter struct {
	c       container
	seqs    bool
	entries int
}

// NewEntryWriter begins a manifest.
func NewEntryWriter(o Options) (*EntryWriter, error) {
	w := &EntryWriter{seqs: o.ColumnSequences}
	schema := entrySchema
	if w.seqs {
		schema = entrySchemaSeqs
	}
	return w, w.c.begin(o, schema)
}

// Add appends an entry; it is not kept.
func (w *EntryWriter) Add(e *Entry) {
	w.c.block = appendEntry(w.c.block, e, w.seqs)
	w.entries++
	w.c.closeRecord()
}

// Len returns the number of entries so far.
func (w *EntryWriter) Len() int { return w.entries }

// Size returns about how many bytes the manifest has so far.
func (w *EntryWriter) Size() int { return len(w.c.out) + len(w.c.block)/2 }

// Finish returns the manifest. The writer is of no use afterwards.
func (w *EntryWriter) Finish() ([]byte, error) { return w.c.bytes() }

// EncodeList returns a manifest list of the metas in the given order. An empty
// one is a header without blocks.
func EncodeList(metas []Meta, o Options) ([]byte, error) {
	var c container
	if err := c.begin(o, listSchema); err != nil {
		return nil, err
	}
	for i := range metas {
		c.block = appendMeta(c.block, &metas[i])
		c.closeRecord()
	}
	return c.bytes()
}

// EncodeIndex returns an index manifest of the entries in the given order.
func EncodeIndex(entries []IndexEntry, o Options) ([]byte, error) {
	source := false
	for i := range entries {
		source = source || entries[i].Global != nil && entries[i].Global.SourceMeta != nil
	}
	schema := indexSchema
	if source {
		schema = indexSchemaSource
	}
	var c container
	if err := c.begin(o, schema); err != nil {
		return nil, err
	}
	for i := range entries {
		c.block = appendIndexEntry(c.block, &entries[i], source)
		c.closeRecord()
	}
	return c.bytes()
}

func appendEntry(b []byte, e *Entry, seqs bool) []byte {
	b = ocf.AppendLong(b, entryVersion)
	b = ocf.AppendLong(b, int64(e.Kind))
	b = appendRow(b, e.Partition)
	b = ocf.AppendLong(b, int64(e.Bucket))
	b = ocf.AppendLong(b, int64(e.TotalBuckets))
	return appendFile(b, &e.File, seqs)
}

func appendFile(b []byte, f *DataFile, seqs bool) []byte {
	b = ocf.AppendString(b, f.FileName)
	b = ocf.AppendLong(b, f.FileSize)
	b = ocf.AppendLong(b, f.RowCount)
	b = appendRow(b, f.MinKey)
	b = appendRow(b, f.MaxKey)
	b = appendStats(b, &f.KeyStats)
	b = appendStats(b, &f.ValueStats)
	b = ocf.AppendLong(b, f.MinSeq)
	b = ocf.AppendLong(b, f.MaxSeq)
	b = ocf.AppendLong(b, f.SchemaID)
	b = ocf.AppendLong(b, int64(f.Level))
	b = appendStrings(b, f.ExtraFiles)
	if b = appendPresent(b, f.HasCreationTime); f.HasCreationTime {
		b = ocf.AppendLong(b, f.CreationTime)
	}
	b = appendOptional(b, f.DeleteRowCount)
	b = appendOptionalBytes(b, f.EmbeddedIndex)
	b = appendOptional(b, f.Source)
	if b = appendPresent(b, f.HasValueStatsCols); f.HasValueStatsCols {
		b = appendStrings(b, f.ValueStatsCols)
	}
	b = appendOptionalString(b, f.ExternalPath)
	b = appendOptional(b, f.FirstRowID)
	if b = appendPresent(b, f.HasWriteCols); f.HasWriteCols {
		b = appendStrings(b, f.WriteCols)
	}
	if !seqs {
		return b
	}
	if b = appendPresent(b, f.WriteColSeqs != nil); f.WriteColSeqs != nil {
		b = appendNumbers(b, f.WriteColSeqs)
	}
	return b
}

func appendMeta(b []byte, m *Meta) []byte {
	b = ocf.AppendLong(b, listVersion)
	b = ocf.AppendString(b, m.FileName)
	b = ocf.AppendLong(b, m.FileSize)
	b = ocf.AppendLong(b, m.NumAdded)
	b = ocf.AppendLong(b, m.NumDeleted)
	b = appendStats(b, &m.PartitionStats)
	b = ocf.AppendLong(b, m.SchemaID)
	for _, n := range [...]*int32{m.MinBucket, m.MaxBucket, m.MinLevel, m.MaxLevel} {
		b = appendOptional(b, n)
	}
	b = appendOptional(b, m.MinRowID)
	return appendOptional(b, m.MaxRowID)
}

func appendIndexEntry(b []byte, e *IndexEntry, source bool) []byte {
	b = ocf.AppendLong(b, indexVersion)
	b = ocf.AppendLong(b, int64(e.Kind))
	b = appendRow(b, e.Partition)
	b = ocf.AppendLong(b, int64(e.Bucket))
	b = ocf.AppendString(b, e.Type)
	b = ocf.AppendString(b, e.FileName)
	b = ocf.AppendLong(b, e.FileSize)
	b = ocf.AppendLong(b, e.RowCount)
	if b = appendPresent(b, e.DVRanges != nil); e.DVRanges != nil {
		if len(e.DVRanges) > 0 {
			b = ocf.AppendLong(b, int64(len(e.DVRanges)))
			for i := range e.DVRanges {
				r := &e.DVRanges[i]
				b = appendPresent(b, true)
				b = ocf.AppendString(b, r.DataFile)
				b = ocf.AppendLong(b, int64(r.Offset))
				b = ocf.AppendLong(b, int64(r.Length))
				b = appendOptional(b, r.Cardinality)
			}
		}
		b = ocf.AppendLong(b, 0)
	}
	b = appendOptionalString(b, e.ExternalPath)
	g := e.Global
	if b = appendPresent(b, g != nil); g == nil {
		return b
	}
	b = ocf.AppendLong(b, g.RowRangeStart)
	b = ocf.AppendLong(b, g.RowRangeEnd)
	b = ocf.AppendLong(b, int64(g.FieldID))
	if b = appendPresent(b, g.ExtraFieldIDs != nil); g.ExtraFieldIDs != nil {
		b = appendNumbers(b, g.ExtraFieldIDs)
	}
	b = appendOptionalBytes(b, g.Meta)
	if source {
		b = appendOptionalBytes(b, g.SourceMeta)
	}
	return b
}

// emptyRow is the row without fields in manifest form.
const emptyRow = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func appendRow(b, row []byte) []byte {
	if row == nil {
		return ocf.AppendString(b, emptyRow)
	}
	return ocf.AppendBytes(b, row)
}

func appendStats(b []byte, s *Stats) []byte {
	b = appendRow(b, s.Min)
	b = appendRow(b, s.Max)
	if s.NullCounts == nil && s.Min != nil {
		return appendPresent(b, false)
	}
	b = appendPresent(b, true)
	if len(s.NullCounts) > 0 {
		b = ocf.AppendLong(b, int64(len(s.NullCounts)))
		for _, n := range s.NullCounts {
			if n < 0 {
				b = appendPresent(b, false)
			} else {
				b = ocf.AppendLong(appendPresent(b, true), n)
			}
		}
	}
	return ocf.AppendLong(b, 0)
}

// appendPresent appends the branch of a union of null and something.
func appendPresent(b []byte, present bool) []byte {
	if present {
		return append(b, 2)
	}
	return append(b, 0)
}

type number interface{ ~int32 | ~int64 }

func appendOptional[T number](b []byte, v *T) []byte {
	if v == nil {
		return appendPresent(b, false)
	}
	return ocf.AppendLong(appendPresent(b, true), int64(*v))
}

func appendOptionalBytes(b, v []byte) []byte {
	if v == nil {
		return appendPresent(b, false)
	}
	return ocf.AppendBytes(appendPresent(b, true), v)
}

func appendOptionalString(b []byte, v *string) []byte {
	if v == nil {
		return appendPresent(b, false)
	}
	return ocf.AppendString(appendPresent(b, true), *v)
}

func appendStrings(b []byte, list []string) []byte {
	if len(list) > 0 {
		b = ocf.AppendLong(b, int64(len(list)))
		for _, s := range list {
			b = ocf.AppendString(b, s)
		}
	}
	return ocf.AppendLong(b, 0)
}

func appendNumbers[T number](b []byte, list []T) []byte {
	if len(list) > 0 {
		b = ocf.AppendLong(b, int64(len(list)))
		for _, n := range list {
			b = ocf.AppendLong(b, int64(n))
		}
	}
	return ocf.AppendLong(b, 0)
}
