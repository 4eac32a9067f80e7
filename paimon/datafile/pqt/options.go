package pqt

import (
	"errors"
	"fmt"
)

// pageBytesMax bounds a page, not compressed. No option lifts it.
const pageBytesMax = 1 << 30

// Options says how a [Writer] lays out a file. The zero value is what Paimon's
// Java writer does by default, with delta encoding for integers.
type Options struct {
	// Compression is none, snappy, gzip, lz4 (LZ4_RAW), zstd or brotli; empty: zstd.
	Compression string
	// ZstdLevel is the level of zstd, 1 to 22; 0: 1.
	ZstdLevel int
	// RowGroupBytes ends a row group when that much has been encoded; 0: 128 MiB.
	// The writer keeps that much in memory.
	RowGroupBytes int64
	// PageBytes ends a page when its values take that much before they are
	// encoded; 0: 1 MiB.
	PageBytes int
	// PageRows ends a page after so many rows; 0: 20,000.
	PageRows int
	// DictionaryBytes bounds the values of a dictionary. Pages after the one that
	// goes beyond it are PLAIN; 0: 1 MiB.
	DictionaryBytes int
	// NoDictionary writes strings and binaries PLAIN.
	NoDictionary bool
	// NoDelta writes integers PLAIN or with a dictionary, for readers that do not
	// know DELTA_BINARY_PACKED: Paimon before 1.0.
	NoDelta bool
	// Version is the version of the program, for the footer; empty: devel.
	Version string
}

func (o Options) withDefaults() (Options, error) {
	if o.ZstdLevel == 0 {
		o.ZstdLevel = 1
	}
	if o.RowGroupBytes == 0 {
		o.RowGroupBytes = 128 << 20
	}
	if o.PageBytes == 0 {
		o.PageBytes = 1 << 20
	}
	if o.PageRows == 0 {
		o.PageRows = 20_000
	}
	if o.DictionaryBytes == 0 {
		o.DictionaryBytes = 1 << 20
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	switch {
	case o.ZstdLevel < 1 || o.ZstdLevel > 22:
		return o, fmt.Errorf("zstd level %d: want 1 to 22", o.ZstdLevel)
	case o.RowGroupBytes < 0 || o.PageBytes < 0 || o.PageRows < 0 || o.DictionaryBytes < 0:
		return o, errors.New("sizes of row groups, pages and dictionaries must be positive")
	}
	o.PageBytes = min(o.PageBytes, pageBytesMax/4)
	o.DictionaryBytes = min(o.DictionaryBytes, pageBytesMax/4)
	return o, nil
}
