package datafile

import (
	"io"

	"sluice/paimon/datafile/avrofile"
	"sluice/paimon/datafile/pqt"
	"sluice/paimon/rowdata"
)

var (
	_ decoder = (*pqt.Reader)(nil)
	_ decoder = (*avrofile.Reader)(nil)
)

// openDecoder opens the file with the format that its name says.
func openDecoder(src io.ReaderAt, size int64, fileName string, fields []rowdata.Field, batchRows int) (decoder, error) {
	switch format := FormatOf(fileName); format {
	case FormatParquet:
		return pqt.Open(src, size, fields, pqt.ReadOptions{BatchRows: batchRows})
	case FormatAvro:
		return avrofile.Open(src, size, fields, avrofile.ReadOptions{BatchRows: batchRows})
	default:
		return nil, &UnsupportedFormatError{File: fileName, Format: format}
	}
}
