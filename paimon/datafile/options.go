package datafile

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"sluice/paimon/manifest"
)

// The formats that can be written and read, as file names end.
const (
	FormatParquet = "parquet"
	FormatAvro    = "avro"
)

// Sizes of files where the table says nothing.
const (
	TargetBytesKeyed  = 128 << 20 // primary-key tables
	TargetBytesAppend = 256 << 20 // append tables
)

// Options say how files are written. The zero value writes Parquet compressed
// with zstd, for level 0.
type Options struct {
	Format      string // FormatParquet or FormatAvro; "": Parquet
	Compression string // none, snappy, zstd, ...; "": zstd
	ZstdLevel   int    // 0: 1
	// NameCompression puts the compression before the format in file names, such as
	// data-1-0.zst.parquet (option file.suffix.include.compression).
	NameCompression bool
	Stats           StatsModes
	Physical        map[string]string // the table options parquet.*, avro.* and file.block-size
	TargetSize      int64             // bytes; 0: 128 MiB, append tables 256 MiB
	TargetRows      int64             // 0: no limit
	Level           int32
	Source          manifest.FileSource
	FirstSequence   int64            // append tables: number of the first row
	Now             func() time.Time // creation times; its zone is the wall clock's; nil: time.Now
	// Encoders keeps memory from file to file; nil: every file has its own.
	Encoders *Encoders
}

func (o Options) withDefaults(l Layout) Options {
	if o.Format == "" {
		o.Format = FormatParquet
	}
	if o.Compression == "" {
		o.Compression = "zstd"
	}
	if o.TargetSize <= 0 {
		o.TargetSize = TargetBytesKeyed
		if l.Key == nil {
			o.TargetSize = TargetBytesAppend
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// SameBytes tells whether files written with o and with p have the same bytes
// and, but for their names, the same meta: what [TeeWriter] asks for.
func (o Options) SameBytes(p Options) bool {
	o, p = o.withDefaults(Layout{}), p.withDefaults(Layout{})
	return o.Format == p.Format && o.Compression == p.Compression && o.ZstdLevel == p.ZstdLevel && o.NameCompression == p.NameCompression &&
		o.Stats.equal(p.Stats) && maps.Equal(o.Physical, p.Physical) && o.TargetSize == p.TargetSize && o.TargetRows == p.TargetRows &&
		o.Level == p.Level && o.Source == p.Source
}

// wallClock is the local date and time of t as if it were UTC, in epoch
// milliseconds: what _CREATION_TIME holds.
func wallClock(t time.Time) int64 {
	_, east := t.Zone()
	return t.UnixMilli() + int64(east)*1000
}

// Kind says what the files of a writer are for, since tables have options for
// each.
type Kind uint8

// What files are for.
const (
	DataFiles Kind = iota
	ChangelogFiles
)

// OptionsOf reads the options of a table about its files, for those of one level
// (format sections 9.2, 9.5 and 13.2). options are the options as the schema
// file has them. Source, FirstSequence and Now are left to the caller. The error
// is an [*OptionError].
func OptionsOf(options map[string]string, kind Kind, level int32) (Options, error) {
	r := optionReader{options: options}
	o := Options{Level: level, Physical: map[string]string{}}
	for key, value := range options {
		if strings.HasPrefix(key, "parquet.") || strings.HasPrefix(key, "avro.") || key == "file.block-size" {
			o.Physical[key] = value
		}
	}
	o.Format = strings.ToLower(r.text(FormatParquet, "file.format"))
	o.Compression = r.text("zstd", "file.compression")
	statsMode := r.text("", "metadata.stats-mode")
	if f := r.perLevel("file.format.per.level", level); f != "" {
		o.Format = strings.ToLower(f)
	}
	if c := r.perLevel("file.compression.per.level", level); c != "" {
		o.Compression = c
	}
	if m := r.perLevel("metadata.stats-mode.per.level", level); m != "" {
		statsMode = m
	}
	if kind == ChangelogFiles {
		o.Format = strings.ToLower(r.text(o.Format, "changelog-file.format"))
		o.Compression = r.text(o.Compression, "changelog-file.compression")
		statsMode = r.text(statsMode, "changelog-file.stats-mode")
	}
	o.ZstdLevel = int(r.number("file.compression.zstd-level", 1))
	o.NameCompression = r.flag("file.suffix.include.compression", false)
	o.TargetSize = r.bytes("target-file-size", 0)
	o.TargetRows = r.number("target-file-row-num", 0)
	r.stats(&o.Stats, statsMode)
	return o, r.err
}

// IsThin reads the option data-file.thin-mode for [Layout].
func IsThin(options map[string]string) bool { return options["data-file.thin-mode"] == "true" }

// optionReader reads options and keeps the first error.
type optionReader struct {
	options map[string]string
	err     error
}

func (r *optionReader) fail(key, value, want string) {
	if r.err == nil {
		r.err = &OptionError{Option: key, Value: value, Want: want}
	}
}

func (r *optionReader) text(byDefault, key string) string {
	if v, ok := r.options[key]; ok {
		return strings.TrimSpace(v)
	}
	return byDefault
}

// perLevel reads a list such as 0:avro,5:parquet.
func (r *optionReader) perLevel(key string, level int32) string {
	found := ""
	for _, part := range strings.Split(r.options[key], ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		at, value, ok := strings.Cut(part, ":")
		n, err := strconv.Atoi(strings.TrimSpace(at))
		if !ok || err != nil {
			r.fail(key, r.options[key], "a list of level:value")
			continue
		}
		if int32(n) == level {
			found = strings.TrimSpace(value)
		}
	}
	return found
}

func (r *optionReader) number(key string, byDefault int64) int64 {
	v, ok := r.options[key]
	if !ok {
		return byDefault
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		r.fail(key, v, "a whole number")
	}
	return n
}

func (r *optionReader) flag(key string, byDefault bool) bool {
	v, ok := r.options[key]
	if !ok {
		return byDefault
	}
	b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(v)))
	if err != nil {
		r.fail(key, v, "true or false")
	}
	return b
}

// sizeUnits are powers of 1024, with the spellings that the original takes.
var sizeUnits = map[string]int64{
	"": 1, "b": 1, "bytes": 1, "k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40,
}

// bytes reads a size such as 128 mb.
func (r *optionReader) bytes(key string, byDefault int64) int64 {
	v, ok := r.options[key]
	if !ok {
		return byDefault
	}
	text := strings.ToLower(strings.TrimSpace(v))
	digits := strings.TrimLeft(text, "0123456789")
	n, err := strconv.ParseInt(text[:len(text)-len(digits)], 10, 64)
	unit, known := sizeUnits[strings.TrimSpace(digits)]
	if err != nil || !known || n > (1<<62)/unit {
		r.fail(key, v, "a size such as 128 mb")
		return byDefault
	}
	return n * unit
}

const (
	fieldPrefix     = "fields."
	statsModeSuffix = ".stats-mode"
)

func (r *optionReader) stats(m *StatsModes, byDefault string) {
	mode := func(key, text string) StatsMode {
		s, err := ParseStatsMode(text)
		if err != nil {
			r.fail(key, text, "none, counts, full or truncate(n)")
		}
		return s
	}
	if byDefault != "" {
		m.Default = mode("metadata.stats-mode", byDefault)
	}
	for key, value := range r.options {
		name, ok := strings.CutPrefix(key, fieldPrefix)
		name, mine := strings.CutSuffix(name, statsModeSuffix)
		if ok && mine {
			if m.Columns == nil {
				m.Columns = map[string]StatsMode{}
			}
			m.Columns[name] = mode(key, value)
		}
	}
	if n := r.number("metadata.stats-keep-first-n-columns", -1); n >= 0 {
		m.Limited, m.KeepFirst = true, int(n)
	}
	m.NotDense = !r.flag("metadata.stats-dense-store", true)
}
