package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// What a block of a spilled run holds. A merge has a block of each run in memory.
const (
	spillBatchRows  = 1024
	spillBatchBytes = 1 << 20
)

// errSpillFull says that the bound of bytes on disk is reached.
var errSpillFull = errors.New("spilled runs have reached their limit of bytes on disk")

// spilledRun is a sorted run on local disk: blocks, each behind its length. The
// file has no name any more.
type spilledRun struct {
	file *os.File
	size int64
	rows int
}

// spillWriter writes one run.
type spillWriter struct {
	pool  *Pool
	run   spilledRun
	block []byte
}

func (p *Pool) newSpill() (*spillWriter, error) {
	if p.codec == nil {
		codec, err := newSpillCodec(p.spill.Uncompressed)
		if err != nil {
			return nil, err
		}
		p.codec = codec
	}
	f, err := os.CreateTemp(p.spill.Dir, "sluice-spill-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &spillWriter{pool: p, run: spilledRun{file: f}}, nil
}

// write appends a block.
func (w *spillWriter) write(kv *rowdata.KeyValues) error {
	w.block = append(w.block[:0], 0, 0, 0, 0)
	w.block = w.pool.codec.encode(w.block, kv)
	size := int64(len(w.block))
	if limit := w.pool.spill.BytesMax; limit > 0 && w.pool.spilled+size > limit {
		return errSpillFull
	}
	binary.LittleEndian.PutUint32(w.block, uint32(size-4))
	if _, err := w.run.file.Write(w.block); err != nil {
		return err
	}
	w.run.size += size
	w.run.rows += kv.N
	w.pool.spilled += size
	return nil
}

// drop removes a run from disk.
func (p *Pool) drop(r *spilledRun) error {
	p.spilled -= r.size
	return r.file.Close()
}

// runReader reads a run from its beginning.
type runReader struct {
	codec *spillCodec
	run   *spilledRun
	at    int64
	block []byte
}

// Next implements [merge.Source].
func (r *runReader) Next(dst *rowdata.KeyValues) (int, error) {
	if r.at == r.run.size {
		dst.Reset()
		return 0, io.EOF
	}
	var head [4]byte
	if _, err := r.run.file.ReadAt(head[:], r.at); err != nil {
		return 0, fmt.Errorf("spilled run: %w", err)
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if size > r.run.size-r.at-4 {
		return 0, errSpillBlock
	}
	if int64(cap(r.block)) < size {
		r.block = make([]byte, size)
	}
	r.block = r.block[:size]
	if _, err := r.run.file.ReadAt(r.block, r.at+4); err != nil {
		return 0, fmt.Errorf("spilled run: %w", err)
	}
	r.at += 4 + size
	if err := r.codec.decode(dst, r.block); err != nil {
		return 0, err
	}
	return dst.N, nil
}

// spillRun writes what the source delivers as one run.
func (p *Pool) spillRun(src merge.Source, t *rowdata.RowType) (run *spilledRun, err error) {
	w, err := p.newSpill()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.drop(&w.run))
		}
	}()
	kv := rowdata.NewKeyValues(t, spillBatchRows)
	for {
		n, err := src.Next(kv)
		if err == io.EOF {
			p.stats.Spills++
			p.stats.SpilledBytes += w.run.size
			return &w.run, nil
		}
		if err != nil {
			return nil, err
		}
		if n > 0 {
			if err := w.write(kv); err != nil {
				return nil, err
			}
		}
	}
}
