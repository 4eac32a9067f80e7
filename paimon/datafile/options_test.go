package datafile

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/datafile/avrofile"
	"sluice/paimon/datafile/pqt"
	"sluice/paimon/rowdata"
)

func TestOptionsOf(t *testing.T) {
	table := map[string]string{
		"file.format": "Parquet", "file.compression": "zstd", "file.compression.zstd-level": "3", "file.format.per.level": "0:avro, 5:orc",
		"file.compression.per.level": "0:snappy", "metadata.stats-mode": "full", "metadata.stats-mode.per.level": "0:none,1:truncate(4)",
		"changelog-file.format": "avro", "changelog-file.compression": "none", "changelog-file.stats-mode": "counts",
		"file.suffix.include.compression": "TRUE", "target-file-size": "64 mb", "target-file-row-num": "1000",
		"metadata.stats-keep-first-n-columns": "2", "metadata.stats-dense-store": "false", "fields.a.b.stats-mode": "none", "fields.c.aggregate-function": "sum",
		"parquet.page.size": "64 kb", "avro.codec": "deflate", "file.block-size": "16m", "bucket": "1",
	}
	o, err := OptionsOf(table, DataFiles, 0)
	require.NoError(t, err)
	require.Equal(t, Options{
		Format: "avro", Compression: "snappy", ZstdLevel: 3, NameCompression: true, TargetSize: 64 << 20, TargetRows: 1000,
		Stats:    StatsModes{Default: StatsMode{Kind: StatsNone}, Columns: map[string]StatsMode{"a.b": {Kind: StatsNone}}, Limited: true, KeepFirst: 2, NotDense: true},
		Physical: map[string]string{"parquet.page.size": "64 kb", "avro.codec": "deflate", "file.block-size": "16m"},
	}, o)
	require.Equal(t, avrofile.Options{Compression: "deflate", ZstdLevel: 3}, avroOptions(&o, nil))

	o, err = OptionsOf(table, DataFiles, 1)
	require.NoError(t, err)
	require.Equal(t, "parquet", o.Format)
	require.Equal(t, StatsMode{Length: 4}, o.Stats.Default)
	require.Equal(t, int32(1), o.Level)
	p, err := parquetOptions(&o)
	require.NoError(t, err)
	require.Equal(t, pqt.Options{Compression: "zstd", ZstdLevel: 3, RowGroupBytes: 16 << 20, PageBytes: 64 << 10}, p)

	o, err = OptionsOf(table, ChangelogFiles, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"avro", "none"}, []string{o.Format, o.Compression})
	require.Equal(t, StatsMode{Kind: StatsCounts}, o.Stats.Default)

	o, err = OptionsOf(nil, ChangelogFiles, 0)
	require.NoError(t, err)
	require.Equal(t, Options{Format: "parquet", Compression: "zstd", ZstdLevel: 1, Physical: map[string]string{}}, o)
	require.Equal(t, int64(128<<20), o.withDefaults(keyedLayout()).TargetSize)
	require.Equal(t, int64(256<<20), o.withDefaults(Layout{Schema: &rowdata.RowType{}}).TargetSize)
	require.True(t, IsThin(map[string]string{"data-file.thin-mode": "true"}))
	require.False(t, IsThin(nil))
}

func TestOptionErrors(t *testing.T) {
	for key, value := range map[string]string{
		"file.format.per.level": "avro", "metadata.stats-mode": "some", "fields.a.stats-mode": "truncate(0)", "target-file-size": "12 parsecs",
		"target-file-row-num": "many", "metadata.stats-dense-store": "maybe", "file.compression.zstd-level": "x",
	} {
		_, err := OptionsOf(map[string]string{key: value}, DataFiles, 0)
		var option *OptionError
		require.ErrorAs(t, err, &option, key)
		require.Equal(t, key, option.Option)
		require.Equal(t, value, option.Value)
	}
	for _, size := range []string{"", "mb", "-1", "99999999999 tb", "1.5 mb"} {
		_, err := OptionsOf(map[string]string{"target-file-size": size}, DataFiles, 0)
		require.Error(t, err, size)
	}
	_, err := parquetOptions(&Options{Physical: map[string]string{"parquet.enable.dictionary": "si"}})
	require.Error(t, err)
}

func TestParseStatsMode(t *testing.T) {
	for _, s := range []string{"none", "counts", "full", "truncate(16)", "truncate(1)"} {
		m, err := ParseStatsMode(s)
		require.NoError(t, err)
		require.Equal(t, s, m.String())
	}
	require.Equal(t, "truncate(16)", StatsMode{}.String())
	m, err := ParseStatsMode(" TRUNCATE(7)")
	require.NoError(t, err)
	require.Equal(t, StatsMode{Length: 7}, m)
	for _, s := range []string{"", "truncate", "truncate()", "truncate(-1)", "truncate(x)", "truncate(3", "fulll"} {
		_, err := ParseStatsMode(s)
		require.Error(t, err, s)
	}
}

func TestSameBytes(t *testing.T) {
	a := Options{Compression: "zstd", Physical: map[string]string{"parquet.page.size": "1 kb"}}
	b := Options{Format: FormatParquet, Physical: map[string]string{"parquet.page.size": "1 kb"}, Now: time.Now}
	require.True(t, a.SameBytes(b))
	for _, change := range []func(*Options){
		func(o *Options) { o.Format = FormatAvro }, func(o *Options) { o.Compression = "none" }, func(o *Options) { o.Stats.NotDense = true },
		func(o *Options) { o.Stats.Columns = map[string]StatsMode{"a": {}} }, func(o *Options) { o.TargetRows = 5 }, func(o *Options) { o.Level = 1 },
		func(o *Options) { o.Physical = nil }, func(o *Options) { o.ZstdLevel = 9 },
	} {
		c := b
		change(&c)
		require.False(t, a.SameBytes(c))
	}
}

// TestStatsLikeJava repeats what the original wrote into manifests for two rows
// of k STRING, a STRING, b INT, c ARRAY<INT>, d STRING, e BYTES with key k.
func TestStatsLikeJava(t *testing.T) {
	list := &rowdata.Type{Root: rowdata.Array, Elem: intType}
	bytesType := &rowdata.Type{Root: rowdata.Varbinary, Length: rowdata.MaxLength}
	schema := &rowdata.RowType{Fields: []rowdata.Field{
		{ID: 0, Name: "k", Type: textType.AsNotNull()},
		{ID: 1, Name: "a", Type: textType},
		{ID: 2, Name: "b", Type: intType},
		{ID: 3, Name: "c", Type: list},
		{ID: 4, Name: "d", Type: textType},
		{ID: 5, Name: "e", Type: bytesType},
	}}
	const long, last = "0123456789abcdefghijk", "\U0010ffff"
	kv := rowdata.NewKeyValues(schema, 2)
	kv.Seq, kv.Kinds, kv.N = []int64{0, 1}, []rowdata.RowKind{0, 0}, 2
	kv.Cols[0].AppendString(long)
	kv.Cols[0].AppendString("zz")
	kv.Cols[1].AppendString(long)
	kv.Cols[1].AppendNull()
	kv.Cols[2].AppendI32(1)
	kv.Cols[2].AppendI32(2)
	kv.Cols[3].Children[0].AppendI32(1)
	kv.Cols[3].CloseList()
	kv.Cols[3].AppendNull()
	kv.Cols[4].AppendString("x")
	kv.Cols[4].AppendBytes(bytes.Repeat([]byte(last), 17))
	kv.Cols[5].AppendString(long)
	kv.Cols[5].AppendString(long + "l")

	const (
		key128 = `["` + long + `"] ["zz"] [0]`
		key16  = `["0123456789abcdef"] ["zz"] [0]`
		noKey  = `[null] [null] [-1]`
	)
	for _, c := range []struct {
		options    string
		key        string
		min, max   string
		nulls      []int64
		cols       []string // nil: all
		thin, avro bool
	}{
		{"", key128, `["0123456789abcdef","0123456789abcdef",1,null,null]`, `["zz","0123456789abcdeg",2,null,null]`, []int64{0, 1, 0, 0, 0}, []string{"k", "a", "b", "d", "e"}, false, false},
		{"metadata.stats-mode=none", key128, `[]`, `[]`, []int64{}, []string{}, false, false},
		{"metadata.stats-keep-first-n-columns=2", key128, `["0123456789abcdef","0123456789abcdef"]`, `["zz","0123456789abcdeg"]`, []int64{0, 1}, []string{"k", "a"}, false, false},
		{"metadata.stats-keep-first-n-columns=2", key128, `["` + long + `","0123456789abcdef",1]`, `["zz","0123456789abcdeg",2]`, []int64{0, 1, 0}, []string{"k", "a", "b"}, true, false},
		{"metadata.stats-keep-first-n-columns=2 fields.k.stats-mode=full", key128, `["` + long + `","0123456789abcdef"]`, `["zz","0123456789abcdeg"]`, []int64{0, 1}, []string{"k", "a"}, true, false},
		{"metadata.stats-keep-first-n-columns=2 fields.a.stats-mode=full", key128, `["` + long + `","` + long + `",1]`, `["zz","` + long + `",2]`, []int64{0, 1, 0}, []string{"k", "a", "b"}, true, false},
		{"fields.k.stats-mode=none", noKey, `["0123456789abcdef",1,null,null]`, `["0123456789abcdeg",2,null,null]`, []int64{1, 0, 0, 0}, []string{"a", "b", "d", "e"}, true, false},
		{"fields.k.stats-mode=counts", key128, `[null,"0123456789abcdef",1,null,null]`, `[null,"0123456789abcdeg",2,null,null]`, []int64{0, 1, 0, 0, 0}, []string{"k", "a", "b", "d", "e"}, false, false},
		{"metadata.stats-mode=counts", key128, `[null,null,null,null,null]`, `[null,null,null,null,null]`, []int64{0, 1, 0, 0, 0}, []string{"k", "a", "b", "d", "e"}, false, false},
		{"metadata.stats-keep-first-n-columns=2 metadata.stats-dense-store=false", key128, `["0123456789abcdef","0123456789abcdef",null,null,null,null]`, `["zz","0123456789abcdeg",null,null,null,null]`, []int64{0, 1, -1, -1, -1, -1}, nil, false, false},
		{"metadata.stats-keep-first-n-columns=2 fields.d.stats-mode=full", key128, `["0123456789abcdef","0123456789abcdef","x"]`, `["zz","0123456789abcdeg","` + string(bytes.Repeat([]byte(last), 17)) + `"]`, []int64{0, 1, 0}, []string{"k", "a", "d"}, false, false},

		{"", key16, `["0123456789abcdef","0123456789abcdef",1,null,null,null]`, `["zz","0123456789abcdeg",2,null,null,null]`, []int64{0, 1, 0, 1, 0, 0}, nil, false, true},
		{"", key16, `["0123456789abcdef","0123456789abcdef",1,null,null,null]`, `["zz","0123456789abcdeg",2,null,null,null]`, []int64{0, 1, 0, 1, 0, 0}, nil, true, true},
		{"metadata.stats-mode=full", key128, `["` + long + `","` + long + `",1,null,"x",null]`, `["zz","` + long + `",2,null,"` + string(bytes.Repeat([]byte(last), 17)) + `",null]`, []int64{0, 1, 0, 1, 0, 0}, nil, false, true},
		{"metadata.stats-mode=none", noKey, `[]`, `[]`, []int64{}, []string{}, false, true},
		{"metadata.stats-keep-first-n-columns=2", key16, `[]`, `[]`, []int64{}, []string{}, false, true},
		{"metadata.stats-keep-first-n-columns=0", noKey, `[]`, `[]`, []int64{}, []string{}, false, true},
		{"metadata.stats-keep-first-n-columns=4 fields.k.stats-mode=counts", key16, `[null]`, `[null]`, []int64{0}, []string{"k"}, false, true},
		{"metadata.stats-keep-first-n-columns=4 fields.k.stats-mode=none", key16, `[]`, `[]`, []int64{}, []string{}, false, true},
		{"metadata.stats-mode=counts fields.k.stats-mode=truncate(2)", `[null] [null] [0]`, `["01",null,null,null,null,null]`, `["zz",null,null,null,null,null]`, []int64{0, 1, 0, 1, 0, 0}, nil, false, true},
	} {
		table := map[string]string{}
		for _, kv := range bytes.Fields([]byte(c.options)) {
			k, v, _ := bytes.Cut(kv, []byte("="))
			table[string(k)] = string(v)
		}
		o, err := OptionsOf(table, DataFiles, 0)
		require.NoError(t, err)
		name := "parquet " + c.options
		if c.avro {
			o.Format, name = FormatAvro, "avro "+c.options
		}
		if c.thin {
			name += " thin"
		}
		t.Run(name, func(t *testing.T) {
			dir := newFolder()
			w := NewRollingWriter(dir.create, dir.names("d"), Layout{Schema: schema, Key: []int{0}, Thin: c.thin}, o)
			require.NoError(t, w.Write(t.Context(), kv, 0, 2))
			files, err := w.Close(t.Context())
			require.NoError(t, err)
			f := one(t, files)
			require.Equal(t, c.cols != nil, f.HasValueStatsCols)
			require.Equal(t, c.cols, f.ValueStatsCols)
			var types []*rowdata.Type
			for i := range schema.Fields {
				if c.cols == nil {
					types = append(types, schema.Fields[i].Type)
				}
			}
			for _, n := range c.cols {
				types = append(types, schema.Fields[schema.Index(n)].Type)
			}
			require.Equal(t, c.min, manifestRow(t, f.ValueStats.Min, types...))
			require.Equal(t, c.max, manifestRow(t, f.ValueStats.Max, types...))
			require.Equal(t, c.nulls, f.ValueStats.NullCounts)
			key := manifestRow(t, f.KeyStats.Min, textType) + " " + manifestRow(t, f.KeyStats.Max, textType) + " "
			if f.KeyStats.NullCounts[0] < 0 {
				key += "[-1]"
			} else {
				key += "[0]"
			}
			require.Equal(t, c.key, key)
		})
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{
		"data-1-0.parquet": "parquet", "data-1-0.zstd.parquet": "parquet", "data-1-0.orc": "orc", "data-1-0.json.gz": "json", "data-1-0.csv.zst": "csv",
		"compacted-changelog-1$0-39253.cc-parquet": "parquet", "compacted-changelog-1$0-39253-39253-3000.cc-avro": "avro", "noext": "", "data.blob": "blob", "x.gz": "gz",
	} {
		require.Equal(t, want, FormatOf(name), name)
	}
}

func TestResolve(t *testing.T) {
	for name, want := range map[string]Location{
		"changelog-1-0.parquet":                                 {Name: "changelog-1-0.parquet", Length: -1},
		"compacted-changelog-ab-c$3-39253.cc-parquet":           {Name: "compacted-changelog-ab-c$3-39253.cc-parquet", BucketDir: "bucket-3", Length: 39253},
		"compacted-changelog-ab-c$3-39253-39253-35699.cc-avro":  {Name: "compacted-changelog-ab-c$3-39253.cc-avro", BucketDir: "bucket-3", Offset: 39253, Length: 35699},
		"compacted-changelog-ab$3-1-2.cc-avro":                  {Name: "compacted-changelog-ab$3-1-2.cc-avro", Length: -1},
		"compacted-changelog-ab$3-99999999999999999999.cc-avro": {Name: "compacted-changelog-ab$3-99999999999999999999.cc-avro", Length: -1},
		"compacted-changelog-ab$03-5.cc-avro":                   {Name: "compacted-changelog-ab$03-5.cc-avro", Length: -1},
	} {
		require.Equal(t, want, Resolve(name), name)
	}
}

func TestWallClock(t *testing.T) {
	moment := time.UnixMilli(1_700_000_000_123)
	require.Equal(t, int64(1_700_000_000_123), wallClock(moment.UTC()))
	require.Equal(t, int64(1_700_000_000_123-5*3_600_000), wallClock(moment.In(time.FixedZone("west", -5*3600))))
}

// FuzzResolve takes names from manifests: whatever they are, the range is one
// that can be asked for.
func FuzzResolve(f *testing.F) {
	f.Add("compacted-changelog-ab-c$3-39253-39253-35699.cc-avro")
	f.Add("changelog-1-0.zst.parquet")
	f.Fuzz(func(t *testing.T, name string) {
		FormatOf(name)
		loc := Resolve(name)
		if loc.BucketDir == "" && (loc != Location{Name: name, Length: -1}) || loc.Offset < 0 || loc.Length < -1 {
			t.Fatalf("%+v", loc)
		}
	})
}
