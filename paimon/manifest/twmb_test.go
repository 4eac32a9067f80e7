package manifest

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"
	avroocf "github.com/twmb/avro/ocf"
)

// sampleEntries returns entries that use every field, and ones that use none.
func sampleEntries() []Entry {
	deletes, firstRow, path := int64(3), int64(1<<40), "file:/elsewhere/p=1/bucket-0/x"
	source := SourceCompact
	row := []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x2a\x00\x00\x00\x00\x00\x00\x00")
	full := Entry{
		Kind: Delete, Partition: row, Bucket: -2, TotalBuckets: -2,
		File: DataFile{
			FileName: "data-1.parquet", FileSize: 1 << 33, RowCount: 100, MinKey: row, MaxKey: row,
			KeyStats: Stats{Min: row, Max: row, NullCounts: []int64{0}}, ValueStats: Stats{Min: row, Max: row, NullCounts: []int64{-1}},
			MinSeq: -5, MaxSeq: 1 << 62, SchemaID: 7, Level: 5, ExtraFiles: []string{"data-1.parquet.index", "日本語"},
			CreationTime: 1_700_000_000_123, HasCreationTime: true, DeleteRowCount: &deletes, EmbeddedIndex: []byte{0, 1, 2},
			Source: &source, ValueStatsCols: []string{"a", "b"}, HasValueStatsCols: true, ExternalPath: &path, FirstRowID: &firstRow,
			WriteCols: []string{}, HasWriteCols: true, WriteColSeqs: []int64{1, -2},
		},
	}
	empty := Entry{
		Partition: []byte(emptyRow), TotalBuckets: -1,
		File: DataFile{
			FileName: "data-2.parquet", MinKey: []byte(emptyRow), MaxKey: []byte(emptyRow),
			KeyStats:   Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), NullCounts: []int64{}},
			ValueStats: Stats{Min: []byte(emptyRow), Max: []byte(emptyRow)}, ExtraFiles: []string{},
		},
	}
	return []Entry{full, empty, full}
}

func sampleMetas() []Meta {
	low, high, first, last := int32(-2), int32(9), int64(0), int64(1<<40)
	empty := Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), NullCounts: []int64{}}
	return []Meta{
		{
			FileName: "manifest-1", FileSize: 10, NumAdded: 3, NumDeleted: 1, PartitionStats: empty, SchemaID: 4,
			MinBucket: &low, MaxBucket: &high, MinLevel: &low, MaxLevel: &high, MinRowID: &first, MaxRowID: &last,
		},
		{FileName: "manifest-2", PartitionStats: empty},
	}
}

func sampleIndex() []IndexEntry {
	cardinality, path := int64(9), "file:/elsewhere/index"
	return []IndexEntry{
		{Partition: []byte(emptyRow), Bucket: 3, Type: IndexHash, FileName: "index-1", FileSize: 40, RowCount: 10},
		{
			Kind: Delete, Partition: []byte(emptyRow), Type: IndexDeletionVectors, FileName: "index-2", ExternalPath: &path,
			DVRanges: []DVRange{{DataFile: "data-1", Offset: 1, Length: 22, Cardinality: &cardinality}, {DataFile: "data-2", Offset: 31, Length: 28}},
		},
		{Partition: []byte(emptyRow), Type: IndexDeletionVectors, FileName: "index-3", DVRanges: []DVRange{}},
		{Partition: []byte(emptyRow), Type: "btree", FileName: "index-4", Global: &GlobalIndex{
			RowRangeStart: 1, RowRangeEnd: 9, FieldID: 2,
			ExtraFieldIDs: []int32{4, 5}, Meta: []byte{1}, SourceMeta: []byte{2},
		}},
	}
}

// decodeGeneric reads a file with the other library.
func decodeGeneric(t *testing.T, data []byte) []map[string]any {
	t.Helper()
	r, err := avroocf.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	var records []map[string]any
	for {
		var v any
		if err := r.Decode(&v); err == io.EOF {
			return records
		} else {
			require.NoError(t, err)
		}
		records = append(records, v.(map[string]any))
	}
}

// encodeGeneric writes a file with the other library.
func encodeGeneric(t *testing.T, schema string, codec avroocf.Codec, records []any) []byte {
	t.Helper()
	s, err := avro.Parse(schema)
	require.NoError(t, err)
	var out bytes.Buffer
	opts := []avroocf.WriterOpt{avroocf.WithBlockCount(2)}
	if codec != nil {
		opts = append(opts, avroocf.WithCodec(codec))
	}
	w, err := avroocf.NewWriter(&out, s, opts...)
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.Encode(r))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestOtherLibraryReadsAndWrites has another Avro library read what we write, and
// gives us back what it writes.
func TestOtherLibraryReadsAndWrites(t *testing.T) {
	codecs := map[string]avroocf.Codec{"none": nil, "snappy": avroocf.SnappyCodec(), "deflate": avroocf.DeflateCodec(6), "zstd": avroocf.MustZstdCodec(nil, nil)}
	for compression, codec := range codecs {
		t.Run(compression, func(t *testing.T) {
			o := Options{Compression: compression}

			entries := sampleEntries()
			data, err := EncodeEntries(entries, o)
			require.NoError(t, err)
			records := decodeGeneric(t, data)
			require.Len(t, records, 3)
			file := records[0]["_FILE"].(map[string]any)
			require.Equal(t, "data-1.parquet", file["_FILE_NAME"])
			require.EqualValues(t, -5, file["_MIN_SEQUENCE_NUMBER"])
			require.Equal(t, time.UnixMilli(1_700_000_000_123).UTC(), file["_CREATION_TIME"].(time.Time).UTC())
			require.Nil(t, records[1]["_FILE"].(map[string]any)["_DELETE_ROW_COUNT"])
			back, err := ReadEntries(encodeGeneric(t, entrySchemaSeqs, codec, anys(records)))
			require.NoError(t, err)
			require.Equal(t, entries, back)

			metas := sampleMetas()
			data, err = EncodeList(metas, o)
			require.NoError(t, err)
			records = decodeGeneric(t, data)
			require.EqualValues(t, 9, records[0]["_MAX_BUCKET"])
			gotMetas, err := DecodeList(encodeGeneric(t, listSchema, codec, anys(records)))
			require.NoError(t, err)
			require.Equal(t, metas, gotMetas)

			index := sampleIndex()
			data, err = EncodeIndex(index, o)
			require.NoError(t, err)
			records = decodeGeneric(t, data)
			require.Len(t, records[1]["_DELETIONS_VECTORS_RANGES"], 2)
			gotIndex, err := DecodeIndex(encodeGeneric(t, indexSchemaSource, codec, anys(records)))
			require.NoError(t, err)
			require.Equal(t, index, gotIndex)
		})
	}
}

func anys(records []map[string]any) []any {
	list := make([]any, len(records))
	for i, r := range records {
		list[i] = r
	}
	return list
}

// oldSchema is that of version 0.8: the record and the nested records are in
// unions, null is not first everywhere, fields are missing, in another order, or
// unknown.
const oldSchema = `["null",{"type":"record","name":"r","fields":[
 {"name":"_VERSION","type":"int"},{"name":"_UNKNOWN","type":{"type":"map","values":["null",{"type":"array","items":"double"}]}},
 {"name":"_KIND","type":["int","null"]},
 {"name":"_PARTITION","type":["null","bytes"]},{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},
 {"name":"_FILE","type":["null",{"type":"record","name":"f","fields":[
  {"name":"_ROW_COUNT","type":"int"},{"name":"_FILE_SIZE","type":"long"},{"name":"_FILE_NAME","type":"string"},
  {"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},
  {"name":"_KEY_STATS","type":["null",{"type":"record","name":"s","fields":[
   {"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},{"name":"_NULL_COUNTS","type":[{"type":"array","items":["long","null"]},"null"]}]}]},
  {"name":"_VALUE_STATS","type":["s","null"]},
  {"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},{"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},
  {"name":"_EXTRA_FILES","type":{"type":"array","items":["null","string"]}},
  {"name":"_CREATION_TIME","type":["long","null"]},{"name":"_DELETE_ROW_COUNT","type":["long","null"]}]}]}]}]`

func TestOldVariant(t *testing.T) {
	stats := func(nulls ...any) map[string]any {
		return map[string]any{"_MIN_VALUES": []byte("m"), "_MAX_VALUES": []byte("M"), "_NULL_COUNTS": append([]any{}, nulls...)}
	}
	record := map[string]any{
		"_VERSION": 2, "_UNKNOWN": map[string]any{"x": []any{1.5, 2.5}, "y": nil}, "_KIND": 1, "_PARTITION": []byte("p"), "_BUCKET": 4, "_TOTAL_BUCKETS": 8,
		"_FILE": map[string]any{
			"_ROW_COUNT": 5, "_FILE_SIZE": int64(6), "_FILE_NAME": "data", "_MIN_KEY": []byte("k"), "_MAX_KEY": []byte("K"),
			"_KEY_STATS": stats(int64(1), nil), "_VALUE_STATS": stats(), "_MIN_SEQUENCE_NUMBER": int64(1), "_MAX_SEQUENCE_NUMBER": int64(2),
			"_SCHEMA_ID": int64(3), "_LEVEL": 2, "_EXTRA_FILES": []any{"x"}, "_CREATION_TIME": int64(77), "_DELETE_ROW_COUNT": nil,
		},
	}
	entries, err := ReadEntries(encodeGeneric(t, oldSchema, avroocf.SnappyCodec(), []any{record}))
	require.NoError(t, err)
	require.Equal(t, []Entry{{
		Kind: Delete, Partition: []byte("p"), Bucket: 4, TotalBuckets: 8,
		File: DataFile{
			FileName: "data", FileSize: 6, RowCount: 5, MinKey: []byte("k"), MaxKey: []byte("K"),
			KeyStats:   Stats{Min: []byte("m"), Max: []byte("M"), NullCounts: []int64{1, -1}},
			ValueStats: Stats{Min: []byte("m"), Max: []byte("M"), NullCounts: []int64{}},
			MinSeq:     1, MaxSeq: 2, SchemaID: 3, Level: 2, ExtraFiles: []string{"x"}, CreationTime: 77, HasCreationTime: true,
		},
	}}, entries)

	record["_PARTITION"] = nil
	_, err = ReadEntries(encodeGeneric(t, oldSchema, nil, []any{record}))
	var field *FieldError
	require.ErrorAs(t, err, &field)
	require.EqualError(t, err, "record 0: field _PARTITION is null")
	_, err = ReadEntries(encodeGeneric(t, oldSchema, nil, []any{nil}))
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestRefusedFiles(t *testing.T) {
	for name, test := range map[string]struct {
		schema string
		record any
		want   string
	}{
		"version": {
			listSchema,
			map[string]any{
				"_VERSION": 1, "_FILE_NAME": "m", "_FILE_SIZE": int64(1), "_NUM_ADDED_FILES": int64(1), "_NUM_DELETED_FILES": int64(0),
				"_PARTITION_STATS": map[string]any{"_MIN_VALUES": []byte{}, "_MAX_VALUES": []byte{}}, "_SCHEMA_ID": int64(0),
			},
			"manifest list has version 1, want 2: upgrade the table with a current Paimon",
		},
		"missing field": {`{"type":"record","name":"r","fields":[{"name":"_VERSION","type":"int"}]}`, map[string]any{"_VERSION": 2}, "is missing"},
		"other type":    {`{"type":"record","name":"r","fields":[{"name":"_VERSION","type":"string"}]}`, map[string]any{"_VERSION": "2"}, "field _VERSION has the unexpected type string"},
		"no record":     {`"int"`, 1, "field (top level) is int, not a record"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeList(encodeGeneric(t, test.schema, nil, []any{test.record}))
			require.ErrorContains(t, err, test.want)
		})
	}
}
