package paimon

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Millisecond, "1d": 24 * time.Hour, "2 days": 48 * time.Hour, "1 DAY": 24 * time.Hour, "3h": 3 * time.Hour, "3 hours": 3 * time.Hour,
		"4min": 4 * time.Minute, "4 m": 4 * time.Minute, "4 minutes": 4 * time.Minute, "5s": 5 * time.Second, "5 sec": 5 * time.Second, "5 seconds": 5 * time.Second,
		" 6 ms ": 6 * time.Millisecond, "6 millis": 6 * time.Millisecond, "7µs": 7 * time.Microsecond, "7 micros": 7 * time.Microsecond, "8 ns": 8, "8 nanoseconds": 8,
		"200000 d": math.MaxInt64, "0": 0,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", " ", "x", "-1 s", "1.5 h", "1 year", "P1D", "99999999999999999999 ms", "h"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"5": 5, "5b": 5, "5 bytes": 5, "1k": 1024, "1 kb": 1024, "1 KibiBytes": 1024, "2 mb": 2 << 20, "2m": 2 << 20, "3 gb": 3 << 30, "4 tb": 4 << 40, "4 tebibytes": 4 << 40,
	} {
		got, err := ParseMemory(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "kb", "-1", "1 eb", "9999999999 tb", "1.5 mb"} {
		_, err := ParseMemory(text)
		require.Error(t, err, text)
	}
}

func TestOptionDefaultsAreValid(t *testing.T) {
	for i := range optionTable {
		d := &optionTable[i]
		require.Same(t, d, optionOf(d.key), "option %s is listed twice", d.key)
		require.NoError(t, Options{}.check(d), d.key)
		if d.byDefault != "" {
			require.NoError(t, Options{d.key: d.byDefault}.check(d), d.key)
			require.Equal(t, d.byDefault, Options{}.Text(d.key))
		}
		require.Equal(t, d.kind == kindEnum, d.values != nil, d.key)
	}
}

func TestOptionsReadTheirKinds(t *testing.T) {
	o := Options{
		"num-levels": "7", "target-file-row-num": "99", "write-only": "TRUE", "snapshot.time-retained": "2 h", "write-buffer-size": "1 mb",
		"merge-engine": "Partial-Update", "bucket-key": " a , b,,", "unknown": "kept",
	}
	n, err := o.Int(OptNumLevels)
	require.NoError(t, err)
	require.Equal(t, 7, n)
	l, err := o.Long(OptTargetFileRowNum)
	require.NoError(t, err)
	require.EqualValues(t, 99, l)
	b, err := o.Bool(OptWriteOnly)
	require.NoError(t, err)
	require.True(t, b)
	d, err := o.Duration(OptSnapshotTimeRetained)
	require.NoError(t, err)
	require.Equal(t, 2*time.Hour, d)
	m, err := o.Memory(OptWriteBufferSize)
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, m)
	e, err := o.Enum(OptMergeEngine)
	require.NoError(t, err)
	require.Equal(t, "partial-update", e)
	require.Equal(t, []string{"a", "b"}, o.List(OptBucketKey))
	require.NoError(t, o.Check())

	// Defaults, and what has none.
	d, err = Options{}.Duration(OptSnapshotTimeRetained)
	require.NoError(t, err)
	require.Equal(t, time.Hour, d)
	n, err = Options{}.Int(OptFullCompactionDeltaCommits)
	require.NoError(t, err)
	require.Zero(t, n)
	require.False(t, Options{}.Has(OptFullCompactionDeltaCommits))
	require.True(t, IsKnownOption(OptBucket))
	require.False(t, IsKnownOption("unknown"))
	require.True(t, IsImmutable(OptMergeEngine))
	require.False(t, IsImmutable(OptBucket))
}

func TestFormerNamesOfOptions(t *testing.T) {
	for former, key := range map[string]string{
		"write.compaction-skip": OptWriteOnly, "first-row.ignore-delete": OptIgnoreDelete, "deduplicate.ignore-delete": OptIgnoreDelete,
		"partial-update.ignore-delete": OptIgnoreDelete, "snapshot.expire.clean-empty-directories": OptSnapshotCleanEmptyDirs,
	} {
		on, err := Options{former: "true"}.Bool(key)
		require.NoError(t, err)
		require.True(t, on, former)
		on, err = Options{former: "true", key: "false"}.Bool(key)
		require.NoError(t, err)
		require.False(t, on, "the present name wins")
		require.ErrorContains(t, Options{former: "x", key: "x"}.Check(), key)
	}
}

func TestOptionErrorsNameOptionAndForm(t *testing.T) {
	for key, c := range map[string]struct{ value, want string }{
		OptNumLevels:            {"x", "integer"},
		OptTargetFileRowNum:     {"1.5", "integer"},
		OptWriteOnly:            {"yes", "true or false"},
		OptSnapshotTimeRetained: {"soon", "'1 h'"},
		OptWriteBufferSize:      {"much", "'64 kb'"},
		OptMergeEngine:          {"x", "deduplicate, partial-update, aggregation, first-row"},
		OptBucket:               {"", "a value"},
	} {
		err := Options{key: c.value}.Check()
		require.ErrorContains(t, err, key)
		require.ErrorContains(t, err, c.want)
		var oe *OptionError
		require.ErrorAs(t, err, &oe)
		require.Equal(t, key, oe.Key)
		require.Equal(t, c.value, oe.Value)
	}
}

func TestOptionMaps(t *testing.T) {
	m, err := Options{"file.format.per.level": "0:avro, 3:orc", "file.format.per.level.5": "parquet"}.Map(OptFileFormatPerLevel)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"0": "avro", "3": "orc", "5": "parquet"}, m)
	_, err = Options{"file.format.per.level": "avro"}.Map(OptFileFormatPerLevel)
	require.ErrorContains(t, err, "k1:v1")
}

func TestChangelogDecoupled(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    bool
	}{
		{Options{}, false},
		{Options{"changelog.num-retained.min": "10"}, false},
		{Options{"changelog.num-retained.min": "11"}, true},
		{Options{"snapshot.num-retained.max": "20", "changelog.num-retained.max": "21"}, true},
		{Options{"snapshot.num-retained.max": "20", "changelog.num-retained.max": "20"}, false},
		{Options{"changelog.time-retained": "1 h"}, false},
		{Options{"changelog.time-retained": "61 min"}, true},
	} {
		got, err := c.options.ChangelogDecoupled()
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.options)
	}
	_, err := Options{"changelog.time-retained": "x"}.ChangelogDecoupled()
	require.Error(t, err)
}
