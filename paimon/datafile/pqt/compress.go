package pqt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codecNamed returns the codec of a name as table options have it.
func codecNamed(name string) (codec, error) {
	switch strings.ToLower(name) {
	case "", "zstd":
		return codecZstd, nil
	case "none", "uncompressed":
		return codecNone, nil
	case "snappy":
		return codecSnappy, nil
	case "gzip":
		return codecGzip, nil
	case "lz4", "lz4_raw":
		return codecLZ4Raw, nil
	case "brotli":
		return codecBrotli, nil
	}
	return 0, fmt.Errorf("parquet compression %q: want none, snappy, gzip, lz4, zstd or brotli", name)
}

// The zstd coders are made once a process, on first use. They hold scratch
// memory only and are safe for concurrent use; to make one costs more than to
// compress a small file.
var (
	zstdFastest = zstdEncoder(zstd.SpeedFastest)
	zstdDefault = zstdEncoder(zstd.SpeedDefault)
	zstdBetter  = zstdEncoder(zstd.SpeedBetterCompression)
	zstdBest    = zstdEncoder(zstd.SpeedBestCompression)

	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err) // only for options that make no sense
		}
		return d
	})
)

const zstdWindowBytes = 1 << 20

// zstdEncoder returns a maker of encoders. Texts without repetitions are
// entropy-coded too, at all levels: files of such are a quarter to two fifths
// smaller for that, which costs some tenths of the time to encode and decode them.
// The window is the default size of a page, since each coder keeps two of it.
func zstdEncoder(level zstd.EncoderLevel) func() *zstd.Encoder {
	return sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
			zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true), zstd.WithWindowSize(zstdWindowBytes))
		if err != nil {
			panic(err) // only for options that make no sense
		}
		return e
	})
}

// compressor compresses pages with one codec. It is not safe for concurrent use.
type compressor struct {
	codec  codec
	zstd   *zstd.Encoder
	gzip   *gzip.Writer
	brotli *brotli.Writer
	lz4    *lz4.Compressor
	out    bytes.Buffer
	plain  *literalCoder // for zstd at its fastest; else nil
}

func newCompressor(c codec, zstdLevel int) *compressor {
	p := &compressor{codec: c}
	switch c {
	case codecZstd:
		switch zstd.EncoderLevelFromZstd(zstdLevel) {
		case zstd.SpeedFastest:
			p.zstd, p.plain = zstdFastest(), new(literalCoder)
		case zstd.SpeedDefault:
			p.zstd = zstdDefault()
		case zstd.SpeedBetterCompression:
			p.zstd = zstdBetter()
		default:
			p.zstd = zstdBest()
		}
	case codecGzip:
		p.gzip = gzip.NewWriter(nil)
	case codecBrotli:
		p.brotli = brotli.NewWriterLevel(nil, 1)
	case codecLZ4Raw:
		p.lz4 = new(lz4.Compressor) // of some 100 KiB
	}
	return p
}

// append appends src to dst in compressed form. src must not share dst's memory.
func (p *compressor) append(dst, src []byte) ([]byte, error) {
	switch p.codec {
	case codecNone:
		return append(dst, src...), nil
	case codecZstd:
		return p.zstd.EncodeAll(src, dst), nil
	case codecSnappy:
		n := s2.MaxEncodedLen(len(src))
		if n < 0 {
			return nil, fmt.Errorf("page of %d bytes: too large for snappy", len(src))
		}
		dst = grow(dst, n)
		return dst[:len(dst)+len(s2.EncodeSnappy(dst[len(dst):cap(dst)], src))], nil
	case codecLZ4Raw:
		dst = grow(dst, lz4.CompressBlockBound(len(src)))
		n, err := p.lz4.CompressBlock(src, dst[len(dst):cap(dst)])
		if err != nil {
			return nil, err
		}
		return dst[:len(dst)+n], nil
	}
	p.out.Reset()
	var w io.WriteCloser = p.gzip
	if p.codec == codecBrotli {
		p.brotli.Reset(&p.out)
		w = p.brotli
	} else {
		p.gzip.Reset(&p.out)
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return append(dst, p.out.Bytes()...), nil
}

var errPageSize = errors.New("page does not decompress to the size in its header")

// ratioMax is how many bytes a byte of a codec can become at most. A header that
// claims more lies, and no memory is taken for it.
func ratioMax(c codec) int {
	switch c {
	case codecNone:
		return 1
	case codecSnappy:
		return 64
	case codecLZ4, codecLZ4Raw:
		return 260
	case codecGzip:
		return 1040
	}
	return 1 << 17 // a run of zstd or brotli is a few bytes however long it is
}

// decompressor undoes compressor, for all codecs that Parquet has but LZO.
type decompressor struct {
	src    bytes.Reader
	gzip   *gzip.Reader
	brotli *brotli.Reader
}

// decode puts src, decompressed, into dst, which has just the length that the
// page header says. What lies between the length and the capacity of dst is
// scratch.
func (d *decompressor) decode(dst, src []byte, c codec) error {
	switch c {
	case codecNone:
		if len(dst) != len(src) {
			return errPageSize
		}
		copy(dst, src)
		return nil
	case codecZstd:
		out, err := zstdDecoder().DecodeAll(src, dst[:0])
		return sized(err, len(out), dst)
	case codecSnappy:
		if n, err := s2.DecodedLen(src); err != nil || n != len(dst) {
			return sized(err, n, dst)
		}
		out, err := s2.Decode(dst, src)
		return sized(err, len(out), dst)
	case codecLZ4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		return sized(err, n, dst)
	case codecLZ4:
		return decodeHadoopLZ4(dst, src)
	case codecGzip:
		d.src.Reset(src)
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		if err := d.gzip.Reset(&d.src); err != nil {
			return err
		}
		return readExactly(d.gzip, dst)
	case codecBrotli:
		d.src.Reset(src)
		if d.brotli == nil {
			d.brotli = brotli.NewReader(&d.src)
		} else if err := d.brotli.Reset(&d.src); err != nil {
			return err
		}
		return readExactly(d.brotli, dst)
	}
	return &UnsupportedError{What: fmt.Sprintf("compression codec %d", c)}
}

func sized(err error, n int, dst []byte) error {
	if err != nil {
		return err
	}
	if n != len(dst) {
		return errPageSize
	}
	return nil
}

// readExactly fills dst and makes sure that the stream ends there.
func readExactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errors.Join(errPageSize, err)
	}
	var one [1]byte
	if n, err := io.ReadFull(r, one[:]); n != 0 || err != io.EOF {
		return errPageSize
	}
	return nil
}

// decodeHadoopLZ4 decodes the codec that Parquet has given up: blocks with
// their two lengths in front, or, as some writers did, one bare block.
func decodeHadoopLZ4(dst, src []byte) error {
	out, in := dst, src
	for len(in) > 8 {
		raw, packed := binary.BigEndian.Uint32(in), binary.BigEndian.Uint32(in[4:])
		if uint64(raw) > uint64(len(out)) || uint64(packed) > uint64(len(in)-8) {
			break
		}
		n, err := lz4.UncompressBlock(in[8:8+packed], out[:raw])
		if err != nil || n != int(raw) {
			break
		}
		out, in = out[raw:], in[8+packed:]
	}
	if len(in) == 0 && len(out) == 0 {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	return sized(err, n, dst)
}

// grow returns b with room for n bytes more.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	g := make([]byte, len(b), max(2*cap(b), len(b)+n))
	copy(g, b)
	return g
}
