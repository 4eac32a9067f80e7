package ocf

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// BlockMaxBytes bounds a block, compressed and plain.
const BlockMaxBytes = 256 << 20

// The codecs of the Avro specification that this package knows.
const (
	CodecNull    = "null"
	CodecDeflate = "deflate"
	CodecSnappy  = "snappy"
	CodecZstd    = "zstandard"
	CodecBzip2   = "bzip2" // reading only
)

// UnknownCodecError says that blocks are compressed in a way that this package
// does not know.
type UnknownCodecError struct{ Codec string }

func (e *UnknownCodecError) Error() string {
	return fmt.Sprintf("avro codec %q is not supported, only null, deflate, snappy and zstandard are", e.Codec)
}

// The pools keep the tables of compressors between files: making them costs more
// than a small manifest does. They hold no settings and no data.
var (
	zstdDecoders    sync.Pool             // *zstd.Decoder
	zstdEncoders    [zstdLevels]sync.Pool // *zstd.Encoder, by level
	deflateEncoders sync.Pool             // *flate.Writer
)

const zstdLevels = int(zstd.SpeedBestCompression) + 1

// CheckCodec tells whether blocks can be written with a codec. The error is an
// [*UnknownCodecError].
func CheckCodec(codec string) error {
	switch codec {
	case CodecNull, CodecDeflate, CodecSnappy, CodecZstd:
		return nil
	}
	return &UnknownCodecError{Codec: codec}
}

// compress appends the compressed form of src. level is that of zstd.
func compress(dst, src []byte, codec string, level int) ([]byte, error) {
	switch codec {
	case CodecNull:
		return append(dst, src...), nil
	case CodecSnappy:
		dst = slices.Grow(dst, snappy.MaxEncodedLen(len(src))+crc32.Size)
		at := len(dst)
		encoded := snappy.Encode(dst[at:cap(dst)], src)
		dst = append(dst[:at], encoded...)
		return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(src)), nil
	case CodecZstd:
		return compressZstd(dst, src, level)
	case CodecDeflate:
		buf := bytes.NewBuffer(dst)
		w, _ := deflateEncoders.Get().(*flate.Writer)
		if w == nil {
			w, _ = flate.NewWriter(nil, flate.DefaultCompression) // the level is valid
		}
		w.Reset(buf)
		if _, err := w.Write(src); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		deflateEncoders.Put(w)
		return buf.Bytes(), nil
	}
	return nil, &UnknownCodecError{Codec: codec}
}

func compressZstd(dst, src []byte, level int) ([]byte, error) {
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &zstdEncoders[speed]
	e, _ := pool.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(speed), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, err
		}
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst), nil
}

// decompress returns the plain form of a block. It reuses dst if there is room,
// or returns src itself.
func decompress(dst, src []byte, codec string) ([]byte, error) {
	switch codec {
	case CodecNull, "":
		return src, nil
	case CodecSnappy:
		return decompressSnappy(dst, src)
	case CodecZstd:
		return decompressZstd(dst, src)
	case CodecDeflate:
		r := flate.NewReader(bytes.NewReader(src))
		defer r.Close()
		return readBlock(dst, r)
	case CodecBzip2:
		return readBlock(dst, bzip2.NewReader(bytes.NewReader(src)))
	}
	return nil, &UnknownCodecError{Codec: codec}
}

func decompressSnappy(dst, src []byte) ([]byte, error) {
	if len(src) < crc32.Size {
		return nil, corrupt("snappy block of %d bytes has no checksum", len(src))
	}
	body, sum := src[:len(src)-crc32.Size], binary.BigEndian.Uint32(src[len(src)-crc32.Size:])
	// A snappy block grows to at most 64/3 of its size, so a length that lies is
	// found before anything is allocated.
	n, err := snappy.DecodedLen(body)
	if err != nil || n > BlockMaxBytes || n > 32*len(body)+64 {
		return nil, corrupt("snappy block of %d bytes says it holds %d", len(body), n)
	}
	plain, err := snappy.Decode(dst[:cap(dst)], body)
	if err != nil {
		return nil, corrupt("snappy block: %v", err)
	}
	if crc32.ChecksumIEEE(plain) != sum {
		return nil, corrupt("snappy block has another checksum")
	}
	return plain, nil
}

func decompressZstd(dst, src []byte) ([]byte, error) {
	d, _ := zstdDecoders.Get().(*zstd.Decoder)
	if d == nil {
		var err error
		d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(BlockMaxBytes), zstd.WithDecoderMaxWindow(BlockMaxBytes))
		if err != nil {
			return nil, err
		}
	}
	defer zstdDecoders.Put(d)
	// The decoder allocates what the frame says. A frame cannot hold more than
	// 128 KiB for every 4 bytes, the size of a run.
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return nil, corrupt("zstandard block: %v", err)
	}
	if h.HasFCS && h.FrameContentSize > min(BlockMaxBytes, uint64(len(src)+4)/4*(128<<10)) {
		return nil, corrupt("zstandard block of %d bytes says it holds %d", len(src), h.FrameContentSize)
	}
	plain, err := d.DecodeAll(src, dst[:0])
	if err != nil {
		return nil, corrupt("zstandard block: %v", err)
	}
	return plain, nil
}

// readBlock reads to the end, or to one byte more than a block may have.
func readBlock(dst []byte, r io.Reader) ([]byte, error) {
	buf := bytes.NewBuffer(dst[:0])
	n, err := buf.ReadFrom(io.LimitReader(r, BlockMaxBytes+1))
	if err != nil {
		return nil, corrupt("compressed block: %v", err)
	}
	if n > BlockMaxBytes {
		return nil, corrupt("block has more than %d bytes", BlockMaxBytes)
	}
	return buf.Bytes(), nil
}
