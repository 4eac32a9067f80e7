package ocf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	magic          = "Obj\x01"
	syncBytes      = 16
	headerKeysMax  = 1000
	readAheadBytes = 64 << 10
)

// Header is what a container says of itself.
type Header struct {
	Meta      map[string][]byte // all keys, avro.schema and avro.codec too
	Codec     string
	sync      [syncBytes]byte
	bodyStart int64
}

// SchemaText returns the JSON text of the schema.
func (h *Header) SchemaText() []byte { return h.Meta["avro.schema"] }

// Block is a run of records.
type Block struct {
	Count int    // records; at least one, at most one a byte
	Data  []byte // plain; see [Reader.Next] for how long it is valid
}

// Reader steps through the blocks of a container. It is not safe for concurrent
// use.
type Reader struct {
	Header
	src   io.ReaderAt // nil: everything is in window
	size  int64
	off   int64 // of the next byte to take
	plain []byte

	window      []byte // bytes [windowStart, windowStart+len) of the file
	windowStart int64
}

// NewReader reads the header of a file of the given size. It reads ahead in
// pieces of 64 KiB or a block, whichever is more.
func NewReader(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, size: size}
	return r, r.readHeader()
}

// NewBytesReader reads the header of a file that is in memory. Blocks that are
// not compressed are parts of data.
func NewBytesReader(data []byte) (*Reader, error) {
	r := &Reader{size: int64(len(data)), window: data}
	return r, r.readHeader()
}

// peek returns at least n bytes from off on, or fewer at the end of the file.
func (r *Reader) peek(n int) ([]byte, error) {
	var have []byte
	if r.off >= r.windowStart && r.off <= r.windowStart+int64(len(r.window)) {
		have = r.window[r.off-r.windowStart:]
	}
	atEnd := have != nil && r.off+int64(len(have)) >= r.size
	if r.src == nil || atEnd || len(have) >= n {
		return have, nil
	}
	length := min(int64(max(n, readAheadBytes)), r.size-r.off)
	if int64(cap(r.window)) < length {
		r.window = make([]byte, length)
	}
	r.window = r.window[:length]
	r.windowStart = r.off
	if got, err := r.src.ReadAt(r.window, r.off); err != nil && (err != io.EOF || int64(got) < length) {
		r.window = r.window[:0]
		return nil, fmt.Errorf("read avro file at byte %d: %w", r.off, err)
	}
	return r.window, nil
}

func (r *Reader) readHeader() error {
	// The header is read as one value: the magic, a map, the sync marker. How
	// long it is is known only when it has been decoded.
	for want := 16 << 10; ; want *= 4 {
		buf, err := r.peek(want)
		if err != nil {
			return err
		}
		if len(buf) < len(magic) || string(buf[:len(magic)]) != magic {
			return corrupt("avro file does not begin with Obj 1")
		}
		var d Decoder
		d.Reset(buf[len(magic):])
		meta := readMeta(&d)
		copy(r.sync[:], d.Fixed(syncBytes))
		if d.Err() != nil {
			if int64(len(buf)) < r.size && want < SchemaMaxBytes {
				continue
			}
			return d.Err()
		}
		r.Meta = meta
		r.bodyStart = int64(len(magic) + d.Pos())
		r.off = r.bodyStart
		r.Codec = string(meta["avro.codec"])
		if r.Codec == "" {
			r.Codec = CodecNull
		}
		return nil
	}
}

func readMeta(d *Decoder) map[string][]byte {
	meta := map[string][]byte{}
	for {
		n := d.Count()
		if n == 0 {
			return meta
		}
		for range n {
			key, value := d.Bytes(), d.Bytes()
			if d.Err() != nil {
				return meta
			}
			meta[string(key)] = bytes.Clone(value)
			if len(meta) > headerKeysMax {
				d.Fail("avro header has more than %d keys", headerKeysMax)
			}
		}
	}
}

// blockHead reads count and size of the next block, and leaves off at its
// content; io.EOF at the end of the file.
func (r *Reader) blockHead() (count, size int64, err error) {
	if r.off >= r.size {
		return 0, 0, io.EOF
	}
	buf, err := r.peek(20)
	if err != nil {
		return 0, 0, err
	}
	var d Decoder
	d.Reset(buf)
	count, size = d.Long(), d.Long()
	if err := d.Err(); err != nil {
		return 0, 0, err
	}
	at := r.off
	r.off += int64(d.Pos())
	if count < 0 || size < 0 || size > BlockMaxBytes || size > r.size-r.off-syncBytes {
		return 0, 0, corrupt("avro block at byte %d has %d records in %d bytes, %d bytes are left", at, count, size, r.size-r.off)
	}
	return count, size, nil
}

// Next returns the next block, or io.EOF. Its bytes are valid until the next
// call; see [Reader.NextOwned].
func (r *Reader) Next() (Block, error) { return r.next(&r.plain) }

// NextOwned returns the next block, or io.EOF. Its bytes stay valid, and belong
// to the caller, or are a part of what was given to [NewBytesReader].
func (r *Reader) NextOwned() (Block, error) {
	var fresh []byte
	b, err := r.next(&fresh)
	if err == nil && r.src != nil && r.Codec == CodecNull {
		b.Data = bytes.Clone(b.Data)
	}
	return b, err
}

func (r *Reader) next(plain *[]byte) (Block, error) {
	for {
		count, size, err := r.blockHead()
		if err != nil {
			return Block{}, err
		}
		buf, err := r.peek(int(size) + syncBytes)
		if err != nil {
			return Block{}, err
		}
		if int64(len(buf)) < size+syncBytes || !bytes.Equal(buf[size:size+syncBytes], r.sync[:]) {
			return Block{}, corrupt("avro block at byte %d does not end with the sync marker", r.off)
		}
		data, err := decompress(*plain, buf[:size:size], r.Codec)
		if err != nil {
			return Block{}, fmt.Errorf("avro block at byte %d: %w", r.off, err)
		}
		if r.Codec != CodecNull {
			*plain = data
		}
		r.off += size + syncBytes
		if count > int64(len(data)) {
			return Block{}, corrupt("avro block of %d bytes says it holds %d records", len(data), count)
		}
		if count > 0 {
			return Block{Count: int(count), Data: data}, nil
		}
	}
}

// SkipBlock steps over the next block without decompressing it and returns how
// many records it holds; io.EOF at the end.
func (r *Reader) SkipBlock() (count int64, err error) {
	count, size, err := r.blockHead()
	if err != nil {
		return 0, err
	}
	r.off += size + syncBytes
	return count, nil
}

// PeekCount returns how many records the next block holds, without taking it;
// io.EOF at the end.
func (r *Reader) PeekCount() (int64, error) {
	at := r.off
	count, _, err := r.blockHead()
	r.off = at
	return count, err
}

// Rewind goes back to the first block.
func (r *Reader) Rewind() { r.off = r.bodyStart }

// IsUnsupported tells whether an error says that the file may be right but this
// package cannot read it.
func IsUnsupported(err error) bool {
	var codec *UnknownCodecError
	return errors.As(err, &codec)
}
