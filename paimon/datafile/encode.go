package datafile

import (
	"io"
	"strings"

	"sluice/paimon/datafile/avrofile"
	"sluice/paimon/datafile/pqt"
	"sluice/paimon/rowdata"
)

// encoder writes the columns of one file.
type encoder interface {
	Write(cols []*rowdata.Vector, from, to int) error
	Size() int64 // bytes written, and an estimate of those to come of what is buffered
	Close() ([]rowdata.ColumnStats, error)
}

var (
	_ encoder = (*pqt.Writer)(nil)
	_ encoder = (*avrofile.Writer)(nil)
)

// newEncoder begins a file in w.
func newEncoder(w io.Writer, p *plan) (encoder, error) {
	switch p.opts.Format {
	case FormatParquet:
		o, err := parquetOptions(&p.opts)
		if err != nil {
			return nil, err
		}
		if enc := p.opts.Encoders.take(w, p.layout, o); enc != nil {
			return enc, nil
		}
		enc, err := pqt.NewWriter(w, p.fields, o)
		if err != nil {
			return nil, err
		}
		if !p.layout.Thin {
			for i, k := range p.layout.Key {
				enc.Twin(i, p.layout.values()+k)
			}
		}
		return enc, nil
	case FormatAvro:
		return avrofile.NewWriter(w, p.fields, avroOptions(&p.opts, p.noStats))
	}
	return nil, &UnsupportedFormatError{Format: p.opts.Format}
}

// rowGroupBytes is the size of row groups where the table does not say it, as
// written. A writer holds one in memory. That of other engines, 128 MiB, is before
// compression and made for readers that give each group to another task.
const rowGroupBytes = 16 << 20

// parquetOptions reads the options parquet.* of the table (format section 9.5).
func parquetOptions(o *Options) (pqt.Options, error) {
	r := optionReader{options: o.Physical}
	p := pqt.Options{
		Compression:     strings.ToLower(r.text(o.Compression, "parquet.compression")),
		ZstdLevel:       int(r.number("parquet.compression.codec.zstd.level", int64(o.ZstdLevel))),
		RowGroupBytes:   r.bytes("parquet.block.size", r.bytes("file.block-size", rowGroupBytes)),
		PageBytes:       int(r.bytes("parquet.page.size", 0)),
		PageRows:        int(r.number("parquet.page.row.count.limit", 0)),
		DictionaryBytes: int(r.bytes("parquet.dictionary.page.size", 0)),
		NoDictionary:    !r.flag("parquet.enable.dictionary", true),
		NoDelta:         !r.flag("parquet.delta.integers", true),
	}
	return p, r.err
}

// avroOptions reads the option avro.codec, which wins over file.compression.
func avroOptions(o *Options, noStats []bool) avrofile.Options {
	a := avrofile.Options{Compression: strings.ToLower(o.Compression), ZstdLevel: o.ZstdLevel, NoStats: noStats}
	if codec, ok := o.Physical["avro.codec"]; ok {
		a.Compression = strings.ToLower(strings.TrimSpace(codec))
	}
	return a
}
