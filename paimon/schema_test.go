package paimon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// TestGoldenSpecs makes the schemas of all golden tables from their specs, with
// every change, and compares them with the files of the original.
func TestGoldenSpecs(t *testing.T) {
	files, err := filepath.Glob(testdata + "/golden/*/spec.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 70)
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var spec struct {
				SchemaSpec `yaml:",inline"`
				Steps      []struct {
					Branch string
					Alter  []string
				}
			}
			require.NoError(t, yaml.Unmarshal(data, &spec))
			s, err := NewSchema(spec.SchemaSpec, 0)
			require.NoError(t, err)
			requireSchemaFile(t, dir, s)
			for _, step := range spec.Steps {
				if step.Branch != "" {
					continue
				}
				for _, text := range step.Alter {
					change, err := ParseChange(text)
					require.NoError(t, err)
					s, err = Evolve(s, []Change{change}, EvolveOptions{HasSnapshots: true})
					require.NoError(t, err)
					requireSchemaFile(t, dir, s)
				}
			}
		})
	}
}

func requireSchemaFile(t *testing.T, dir string, s *Schema) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix((&Table{Path: "table", Branch: MainBranch}).SchemaPath(s.ID), "/")))
	require.NoError(t, err)
	want, err := ParseSchema(data)
	require.NoError(t, err)
	got := *s
	got.TimeMillis = want.TimeMillis
	text, err := got.Marshal()
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(text))
}

func TestSchemasOfOldVersions(t *testing.T) {
	for _, c := range []struct{ version, bucket, format string }{
		{``, "1", "orc"}, {`"version":1,`, "1", "orc"}, {`"version":2,`, "-1", "orc"}, {`"version":3,`, "-1", "parquet"},
	} {
		s, err := ParseSchema([]byte(`{` + c.version + `"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{}}`))
		require.NoError(t, err)
		require.Equal(t, c.bucket, s.Options.Text(OptBucket))
		require.Equal(t, c.format, s.Options.Text(OptFileFormat))
		require.Zero(t, s.TimeMillis)
	}
	s, err := ParseSchema([]byte(`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":9,"partitionKeys":[],"primaryKeys":[],"options":{"bucket":2,"write-only":true,"x":null,"file.format":"avro"},"comment":null,"more":1}`))
	require.NoError(t, err)
	require.Equal(t, Options{"bucket": "2", "write-only": "true", "file.format": "avro"}, s.Options)
	require.Equal(t, 9, s.HighestFieldID)
	require.Equal(t, 2, s.Buckets())
}

func TestSchemaFilesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{}`, `{"id":0}`, `{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}]} x`,
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"},{"id":0,"name":"b","type":"INT"}]}`,
		`{"id":0,"fields":[{"id":0,"name":"a","type":{"type":"ROW","fields":[{"id":0,"name":"b","type":"INT"}]}}]}`,
		`{"id":0,"fields":[{"id":1073741823,"name":"a","type":"INT"}]}`,
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"primaryKeys":["b"]}`,
		`{"id":0,"fields":[{"id":0,"name":"a","type":"WHAT"}]}`,
		`{"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"options":{"x":{}}}`,
	} {
		_, err := ParseSchema([]byte(text))
		require.ErrorIs(t, err, ErrCorrupt, text)
	}
	_, err := ParseSchema([]byte(`{"version":3,"id":4,"fields":[{"id":0,"name":"a","type":"INT"}],"options":{"merge-engine":"new"}}`))
	require.ErrorAs(t, err, new(*OptionError))
	require.ErrorContains(t, err, "schema 4")
}

func TestSchemaAccessors(t *testing.T) {
	s, err := NewSchema(SchemaSpec{
		Schema: ColumnsSpec{Fields: []string{"v STRING", "p INT", "b BIGINT", "a STRING", "s INT"}, PK: []string{"b", "p", "a"}, Partition: []string{"p"}},
		Options: map[string]string{
			"bucket": "4", "bucket-key": "a,b", "sequence.field": "s, v", "sequence.field.sort-order": "descending",
			"merge-engine": "PARTIAL-UPDATE", "changelog-producer": "lookup", "deletion-vectors.enabled": "true", "bucket-function.type": "hive",
		},
	}, 0)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 3}, s.KeyCols())
	require.Equal(t, []int{2, 3}, s.TrimmedKey(), "in primary key order")
	require.Equal(t, []int{3, 2}, s.BucketKey(), "in the order of the option")
	require.Equal(t, rowdata.BigInt, s.BucketKeyTypes()[1].Root)
	require.Equal(t, []int{4, 0}, s.SequenceFields())
	require.True(t, s.SequenceDescending())
	require.Equal(t, PartialUpdate, s.MergeEngine())
	require.Equal(t, ProducerLookup, s.ChangelogProducer())
	require.Equal(t, HashFixed, s.BucketMode())
	require.Equal(t, "hive", s.BucketFunction())
	require.True(t, s.DeletionVectors())
	require.Equal(t, 4, s.Buckets())
	require.Equal(t, rowdata.Int, s.PartitionTypes()[0].Root)
	require.True(t, s.Fields[2].Type.NotNull)
	require.Equal(t, -1, s.Index("none"))

	plain, err := NewSchema(SchemaSpec{Schema: ColumnsSpec{Fields: []string{"k INT", "v INT"}}}, 0)
	require.NoError(t, err)
	require.Nil(t, plain.TrimmedKey())
	require.Equal(t, Deduplicate, plain.MergeEngine())
	require.Equal(t, ProducerNone, plain.ChangelogProducer())
	for _, c := range []struct {
		bucket   string
		pk, part []string
		want     string
	}{
		{"-1", nil, nil, "BUCKET_UNAWARE"},
		{"-1", []string{"k"}, nil, "HASH_DYNAMIC"},
		{"-1", []string{"k"}, []string{"v"}, "KEY_DYNAMIC"},
		{"-1", []string{"k", "v"}, []string{"v"}, "HASH_DYNAMIC"},
		{"-2", []string{"k"}, nil, "POSTPONE_MODE"},
		{"3", []string{"k"}, nil, "HASH_FIXED"},
	} {
		s, err := NewSchema(SchemaSpec{Schema: ColumnsSpec{Fields: []string{"k INT", "v INT"}, PK: c.pk, Partition: c.part}, Options: map[string]string{"bucket": c.bucket}}, 0)
		require.NoError(t, err)
		require.Equal(t, c.want, s.BucketMode().String())
	}
	require.Equal(t, "BUCKET_MODE?", BucketMode(99).String())
}

func TestNullableKeys(t *testing.T) {
	spec := kvSpec()
	spec.Options[OptPrimaryKeyNullable] = "true"
	s, err := NewSchema(spec, 0)
	require.NoError(t, err)
	require.False(t, s.Fields[0].Type.NotNull)
	s, err = Evolve(s, []Change{SetOption{OptPrimaryKeyNullable, "false"}}, EvolveOptions{})
	require.NoError(t, err)
	require.True(t, s.Fields[0].Type.NotNull)
}

func TestParseField(t *testing.T) {
	for text, want := range map[string]rowdata.Field{
		"a INT":                           {Name: "a", Type: &rowdata.Type{Root: rowdata.Int}},
		" `a b`  INT NOT NULL ":           {Name: "a b", Type: &rowdata.Type{Root: rowdata.Int, NotNull: true}},
		"`a``b` INT":                      {Name: "a`b", Type: &rowdata.Type{Root: rowdata.Int}},
		"comment STRING":                  {Name: "comment", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}},
		"a INT comment 'it''s'":           {Name: "a", Type: &rowdata.Type{Root: rowdata.Int}, Description: "it's"},
		"a INT DEFAULT '5' COMMENT 'c'":   {Name: "a", Type: &rowdata.Type{Root: rowdata.Int}, Default: ptr("5"), Description: "c"},
		"a INT DEFAULT ' COMMENT ''x'' '": {Name: "a", Type: &rowdata.Type{Root: rowdata.Int}, Default: ptr(" COMMENT 'x' ")},
		"a DECIMAL(5, 2)":                 {Name: "a", Type: &rowdata.Type{Root: rowdata.Decimal, Precision: 5, Scale: 2}},
		"a ROW<b INT COMMENT 'in', c INT>": {Name: "a", Type: &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{
			{Name: "b", Type: &rowdata.Type{Root: rowdata.Int}, Description: "in"}, {Name: "c", Type: &rowdata.Type{Root: rowdata.Int}},
		}}},
	} {
		got, err := ParseField(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseField(FieldText(&got))
		require.NoError(t, err)
		if len(got.Type.Fields) == 0 { // comments of members are not part of a type's text
			require.Equal(t, got, again, text)
		}
	}
	for _, text := range []string{"", "a", "`a INT", "`` INT", "a INT COMMENT", "a INT COMMENT c", "a INT COMMENT 'c", "a INT COMMENT 'c' x", "a WHAT", "a INT INT", "a INT DEFAULT 5"} {
		_, err := ParseField(text)
		require.Error(t, err, text)
	}
}

func TestFieldIDsOfNewSchemas(t *testing.T) {
	s, err := NewSchema(SchemaSpec{
		Schema: ColumnsSpec{Fields: []string{
			"k INT NOT NULL", "r ROW<x INT, y ARRAY<ROW<z STRING>>>", "m MAP<STRING, DECIMAL(20, 2)>", "d INT DEFAULT '5'",
		}, PK: []string{"k"}},
		Options: map[string]string{"bucket": "2"},
	}, 1795981591166)
	require.NoError(t, err)
	s.Fields[1].Description = "a desc"
	data, err := s.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"version":3,"id":0,
	 "fields":[{"id":0,"name":"k","type":"INT NOT NULL"},
	  {"id":1,"name":"r","type":{"type":"ROW","fields":[{"id":2,"name":"x","type":"INT"},
	     {"id":4,"name":"y","type":{"type":"ARRAY","element":{"type":"ROW","fields":[{"id":3,"name":"z","type":"STRING"}]}}}]},
	   "description":"a desc"},
	  {"id":5,"name":"m","type":{"type":"MAP","key":"STRING","value":"DECIMAL(20, 2)"}},
	  {"id":6,"name":"d","type":"INT","defaultValue":"5"}],
	 "highestFieldId":6,"partitionKeys":[],"primaryKeys":["k"],"options":{"bucket":"2"},"timeMillis":1795981591166}`, string(data))
}

func FuzzParseSchema(f *testing.F) {
	files, err := filepath.Glob(testdata + "/golden/*/table/schema/schema-*")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"id":0,"fields":[{"id":0,"name":"\u2028<","type":"INT"}],"options":{"bucket":1e3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSchema(data)
		if err != nil {
			return
		}
		text, err := s.Marshal()
		require.NoError(t, err)
		require.True(t, json.Valid(text))
		again, err := ParseSchema(text)
		require.NoError(t, err)
		second, err := again.Marshal()
		require.NoError(t, err)
		require.Equal(t, string(text), string(second))
		_ = s.Validate()
	})
}

func FuzzParseField(f *testing.F) {
	for _, s := range []string{"a INT", "`a``b` ROW<x INT COMMENT 'c'> DEFAULT 'd' COMMENT 'e'", "a MAP<STRING, ARRAY<INT>> NOT NULL"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseField(text)
		if err != nil {
			return
		}
		again, err := ParseField(FieldText(&got))
		require.NoError(t, err)
		require.Equal(t, got.Name, again.Name)
		require.Equal(t, got.Type.String(), again.Type.String())
		require.Equal(t, got.Default, again.Default)
		require.Equal(t, got.Description, again.Description)
	})
}
