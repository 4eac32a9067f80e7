package paimon

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fullSnapshot has all 24 keys.
func fullSnapshot() *Snapshot {
	return &Snapshot{
		Version: 3, UUID: ptr("6f1c"), ID: 2, SchemaID: 1, BaseManifestList: "base", BaseManifestListSize: ptr(int64(884)),
		DeltaManifestList: "delta", DeltaManifestListSize: ptr(int64(986)), ChangelogManifestList: ptr("changelog"), ChangelogManifestListSize: ptr(int64(7)),
		IndexManifest: ptr("index"), CommitUser: "ü<user>\u2028\"\\\t", WriterVersion: ptr("w"), CommitIdentifier: math.MaxInt64, CommitKind: CommitOverwrite,
		TimeMillis: 1754000000000, TotalRecordCount: ptr(int64(10)), DeltaRecordCount: ptr(int64(-5)), ChangelogRecordCount: ptr(int64(0)),
		Watermark: ptr(int64(UnknownWatermark)), Statistics: ptr("stat"), Properties: map[string]string{"b": "2", "a": "1"}, NextRowID: ptr(int64(0)), Operation: ptr("WRITE"),
	}
}

func TestSnapshotLayout(t *testing.T) {
	text, err := fullSnapshot().Marshal()
	require.NoError(t, err)
	require.Equal(t, `{
  "version" : 3,
  "uuid" : "6f1c",
  "id" : 2,
  "schemaId" : 1,
  "baseManifestList" : "base",
  "baseManifestListSize" : 884,
  "deltaManifestList" : "delta",
  "deltaManifestListSize" : 986,
  "changelogManifestList" : "changelog",
  "changelogManifestListSize" : 7,
  "indexManifest" : "index",
  "commitUser" : "ü<user>`+"\u2028"+`\"\\\t",
  "writerVersion" : "w",
  "commitIdentifier" : 9223372036854775807,
  "commitKind" : "OVERWRITE",
  "timeMillis" : 1754000000000,
  "totalRecordCount" : 10,
  "deltaRecordCount" : -5,
  "changelogRecordCount" : 0,
  "watermark" : -9223372036854775808,
  "statistics" : "stat",
  "properties" : {
    "a" : "1",
    "b" : "2"
  },
  "nextRowId" : 0,
  "operation" : "WRITE"
}`, string(text))
	s, err := ParseSnapshot(text)
	require.NoError(t, err)
	require.Equal(t, fullSnapshot(), s)
	_, known := s.EventTime()
	require.False(t, known)
	require.True(t, s.HasChangelog())
	require.EqualValues(t, 1754000000000, s.Time().UnixMilli())
	compact, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(compact))
}

func TestSnapshotsOfOtherWriters(t *testing.T) {
	// Old: no version, no counts, logOffsets, explicit nulls. In another order, with
	// keys that are not known.
	s, err := ParseSnapshot([]byte(` {"timeMillis":5,"logOffsets":{},"changelogManifestList":null,"changelogRecordCount":0,"watermark":null,"totalRecordCount":null,
	 "id":1,"schemaId":0,"commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","baseManifestList":"b","deltaManifestList":"d","future":{"a":[1]}} `))
	require.NoError(t, err)
	require.Equal(t, &Snapshot{
		Version: 1, ID: 1, CommitUser: "u", CommitIdentifier: 1, CommitKind: CommitAppend, BaseManifestList: "b", DeltaManifestList: "d",
		TimeMillis: 5, ChangelogRecordCount: ptr(int64(0)),
	}, s)
	require.False(t, s.HasChangelog())
	_, known := s.EventTime()
	require.False(t, known)
	s.Watermark = ptr(int64(7))
	w, known := s.EventTime()
	require.True(t, known)
	require.EqualValues(t, 7, w)
}

func TestSnapshotFilesThatAreRefused(t *testing.T) {
	text, err := fullSnapshot().Marshal()
	require.NoError(t, err)
	for _, key := range []string{"id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser", "commitIdentifier", "commitKind", "timeMillis"} {
		broken := regexp.MustCompile(`"`+key+`" : [^,]*,`).ReplaceAll(text, nil)
		_, err := ParseSnapshot(broken)
		require.ErrorIs(t, err, ErrCorrupt, key)
		require.ErrorContains(t, err, key)
	}
	for _, text := range []string{``, `{`, `[]`, `null`, string(text) + "x", `{"id":"a"}`} {
		_, err := ParseSnapshot([]byte(text))
		require.ErrorIs(t, err, ErrCorrupt, text)
	}
	for from, to := range map[string]string{`"OVERWRITE"`: `"MAGIC"`, `"id" : 2`: `"id" : 0`} {
		_, err := ParseSnapshot(regexp.MustCompile(regexp.QuoteMeta(from)).ReplaceAll(text, []byte(to)))
		require.ErrorIs(t, err, ErrCorrupt, to)
	}
}

func TestStatisticsLayout(t *testing.T) {
	s := &Statistics{SnapshotID: 1, SchemaID: 2}
	text, err := s.Marshal()
	require.NoError(t, err)
	require.Equal(t, "{\n  \"snapshotId\" : 1,\n  \"schemaId\" : 2,\n  \"colStats\" : { }\n}", string(text))
	_, err = ParseStatistics([]byte("x"))
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestIndentedLayout(t *testing.T) {
	text, err := marshalIndented(map[string]any{"a": []any{}, "b": map[string]any{}, "c": []any{1.5, "x\u0001\b\f\r\n", nil, true, []any{map[string]any{"d": 1}}}})
	require.NoError(t, err)
	require.Equal(t, "{\n  \"a\" : [ ],\n  \"b\" : { },\n  \"c\" : [ 1.5, \"x\\u0001\\b\\f\\r\\n\", null, true, [ {\n    \"d\" : 1\n  } ] ]\n}", string(text))
}

func FuzzParseSnapshot(f *testing.F) {
	for _, pattern := range []string{"/golden/*/table/snapshot/snapshot-1", "/golden/*/table/tag/tag-*", "/golden-flink/*/*/*/snapshot/snapshot-*"} {
		files, err := filepath.Glob(testdata + pattern)
		require.NoError(f, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSnapshot(data)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		text, err := s.Marshal()
		require.NoError(t, err)
		again, err := ParseSnapshot(text)
		require.NoError(t, err)
		second, err := again.Marshal()
		require.NoError(t, err)
		require.Equal(t, string(text), string(second))
	})
}

func FuzzParseTag(f *testing.F) {
	f.Add([]byte(`{"version":3,"id":2,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":5,"tagCreateTime":[2024,1,2,3,4,5,6],"tagTimeRetained":86400.000000000}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tag, err := ParseTag("t", data, time.UTC)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		text, err := tag.Marshal()
		require.NoError(t, err)
		again, err := ParseTag("t", text, time.UTC)
		require.NoError(t, err)
		require.Equal(t, tag.Retained, again.Retained)
		if tag.Retained != 0 {
			require.True(t, tag.CreateTime.Equal(again.CreateTime))
		}
	})
}

func FuzzOptionValues(f *testing.F) {
	for _, s := range []string{"1 h", "5 mb", "true", "3", "lookup", "a:b,c:d", " ", "9223372036854775807 d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i := range optionTable {
			d := &optionTable[i]
			o := Options{d.key: value}
			if err := o.check(d); err != nil {
				require.ErrorAs(t, err, new(*OptionError))
			}
			_, _ = o.Map(d.key)
			_ = o.List(d.key)
		}
		if n, err := ParseMemory(value); err == nil {
			require.GreaterOrEqual(t, n, int64(0))
		}
		if n, err := ParseDuration(value); err == nil {
			require.GreaterOrEqual(t, int64(n), int64(0))
		}
	})
}
