package demo

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"sluice/ingest"
	"sluice/paimon/rowdata"
)

//go:embed orders.jsonl.zst
var recording []byte

// Stream is the demo's change stream. It is not safe for concurrent use.
type Stream struct {
	pos  Position
	zr   *zstd.Decoder
	rec  *ingest.Debezium // nil once the recording is used up
	shop shop
	now  func() time.Time
}

// Open returns the stream at a position. Table reads the current rows of the
// table in key order, batch by batch until io.EOF; it is asked only where the
// generator needs to know them. Now stamps generated changes.
func Open(t *rowdata.RowType, at Position, table func() (*rowdata.Batch, error), now func() time.Time) (*Stream, error) {
	s := &Stream{pos: at, now: now}
	for {
		b, err := table()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the orders table: %w", err)
		}
		s.shop.learn(b)
	}
	zr, err := zstd.NewReader(bytes.NewReader(recording), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	s.zr = zr
	s.rec = ingest.NewDebezium(zr, t, ingest.DebeziumOptions{})
	skip := &rowdata.Changes{Batch: *rowdata.NewBatch(t, 2)}
	for range at.Recorded {
		skip.Reset()
		if _, err := s.rec.Decode(skip); err != nil {
			s.Close()
			return nil, fmt.Errorf("recording: position %d: %w", at.Recorded, err)
		}
	}
	return s, nil
}

// Close frees what the stream holds.
func (s *Stream) Close() {
	if s.zr != nil {
		s.zr.Close()
		s.zr, s.rec = nil, nil
	}
}

// Position returns the position after the last change.
func (s *Stream) Position() Position { return s.pos }

// Next appends the next change to dst: one row, or two for an update. The
// stream never ends.
func (s *Stream) Next(dst *rowdata.Changes) error {
	for s.rec != nil {
		from := dst.N
		_, err := s.rec.Decode(dst)
		if errors.Is(err, io.EOF) {
			s.Close()
			break
		}
		if err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		s.pos.Recorded++
		if dst.N == from {
			continue // a tombstone
		}
		added := rowdata.Changes{Kinds: dst.Kinds[from:], Batch: *rowdata.NewBatch(dst.Type, 2)}
		added.AppendRange(&dst.Batch, from, dst.N)
		s.shop.apply(&added)
		return nil
	}
	s.shop.step(dst, s.pos.Generated, s.now().UnixMilli())
	s.pos.Generated++
	return nil
}
