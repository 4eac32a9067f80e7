package lookup

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sluice/paimon/rowdata"
)

// lookupRows is how many keys are looked up together: their keys and values stay
// in the processor's caches.
const lookupRows = 4096

// search is the scratch memory of lookups.
type search struct {
	keys    []byte
	offs    []uint32
	heads   []uint64
	state   []int8   // of each key
	locs    []loc    // of each key: where its value is if it is a hit
	vals    [][]byte // of each key: its value if it is a hit
	values  []byte   // values from the log
	span    []byte   // of the log that is being read
	fetches []fetch
	page    page
	read    pageReader
	fence   []byte // of the page

	hits    [][]byte
	hitRows []int32
	decoder decoder
}

// What is known of a key during a search.
const (
	open int8 = iota // not found yet
	hit
	gone // deleted by a newer change than any that is still to be asked
)

// Lookup finds the newest committed record of keys that are given in ascending
// order: those of rows rows[i] of b, a batch of Spec.Row. Changes of finished
// stages count as committed. It appends the records found to dst and sets
// found[i] to the row there, or to -1; found is as long as rows. Records of kind
// -D and -U are found as any other; what was deleted by [Stage.Delete] is not.
//
// With Spec.KeyOnly the records have NULL in all columns but the key, sequence
// number 0 and kind +I, and dst may be nil: found[i] is then 0 for a key that is
// there.
//
// An error for which errors.Is(err, ErrRebuild) says that the index is of no use
// any more; dst is then to be thrown away.
func (x *Index) Lookup(ctx context.Context, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	if len(rows) == 0 {
		return ctx.Err()
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	defer x.mu.Unlock()
	err := x.hold(ctx)
	var it *pebble.Iterator
	if err == nil && x.inMemory == nil {
		it, err = x.iterator()
	}
	if err == nil {
		err = x.lookup(ctx, it, b, rows, dst, found)
	} else {
		err = x.failed(ctx, err)
	}
	if broken := x.broken.Load(); err == nil && broken != nil {
		err = *broken
	}
	return err
}

func (x *Index) lookup(ctx context.Context, it *pebble.Iterator, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	var last []byte
	x.scratch.read.reset(x.log)
	for from := 0; from < len(rows); from += lookupRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+lookupRows, len(rows))
		s := &x.scratch
		if err := s.encode(x.keys, b, rows[from:to], from, last); err != nil {
			return err
		}
		if err := x.searchStages(ctx); err != nil {
			return err
		}
		for i := len(x.runs) - 1; i >= 0; i-- {
			if err := s.searchRun(x.runs[i]); err != nil {
				return x.failed(ctx, err)
			}
		}
		if it != nil || x.inMemory != nil {
			if err := s.searchPages(it, x.inMemory); err != nil {
				return x.failed(ctx, err)
			}
		}
		if dst != nil {
			if err := s.fetchValues(x.log); err != nil {
				return x.failed(ctx, err)
			}
		}
		if err := x.collect(b, rows[from:to], dst, found[from:to]); err != nil {
			return x.failed(ctx, err)
		}
		last = append(last[:0], s.key(to-from-1)...)
	}
	return nil
}

func (x *Index) searchStages(ctx context.Context) error {
	for i := len(x.stages) - 1; i >= 0; i-- {
		if err := x.stages[i].search(ctx, &x.scratch); err != nil {
			return x.failed(ctx, err)
		}
	}
	return nil
}

func (s *search) key(i int) []byte { return s.keys[s.offs[i]:s.offs[i+1]] }

// encode makes the keys of the rows; row first of the lookup comes after last.
func (s *search) encode(codec *keyCodec, b *rowdata.Batch, rows []int32, first int, last []byte) error {
	s.keys, s.offs, s.heads = s.keys[:0], append(s.offs[:0], 0), s.heads[:0]
	s.state, s.locs, s.vals = s.state[:0], s.locs[:0], s.vals[:0]
	for i, row := range rows {
		at := len(s.keys)
		keys, err := codec.append(s.keys, b.Cols, int(row))
		if err != nil {
			return err
		}
		key := keys[at:]
		if i > 0 {
			last = s.keys[s.offs[i-1]:at]
		}
		if bytes.Compare(last, key) > 0 {
			return &OrderError{"key", int64(first + i)}
		}
		s.keys, s.offs, s.heads = keys, append(s.offs, uint32(len(keys))), append(s.heads, keyHead(key))
		s.state, s.locs, s.vals = append(s.state, open), append(s.locs, loc{}), append(s.vals, nil)
	}
	return nil
}

// hit notes where the value of key i is, as a run or a table has it.
func (s *search) hit(i int, place []byte) error {
	l, ok := loc{}, len(place) == 0
	if !ok {
		l, ok = decodeLoc(place)
	}
	if !ok {
		return errValue
	}
	s.state[i], s.locs[i] = hit, l
	return nil
}

// searchRun looks for the keys that are still open in a run.
func (s *search) searchRun(r *run) error {
	at := 0
	for i, state := range s.state {
		if state != open {
			continue
		}
		key := s.key(i)
		if at = r.seek(at, s.heads[i], key); at == r.len() {
			return nil
		}
		if r.refs[at].head != s.heads[i] || !bytes.Equal(r.key(at), key) {
			continue
		}
		if r.deleted(at) {
			s.state[i] = gone
		} else if err := s.hit(i, r.value(at)); err != nil {
			return err
		}
	}
	return nil
}

// searchPages looks for the keys that are still open in the pages. What is in memory
// of them, or else the database, says where they are.
func (s *search) searchPages(it *pebble.Iterator, r *resident) error {
	at, no, begun := 0, 0, false
	for i, state := range s.state {
		if state != open {
			continue
		}
		key := s.key(i)
		if !begun || bytes.Compare(key, s.fence) > 0 && !bytes.Equal(s.fence, lastFence) {
			var err error
			if r != nil {
				no, err = s.turnTo(r, no, s.heads[i], key)
			} else {
				err = s.turn(it, key)
			}
			if err != nil {
				return err
			}
			at, begun = 0, true
		}
		var found bool
		if at, found = s.page.seek(at, key); found {
			s.state[i], s.locs[i] = hit, s.page.loc(at)
		}
	}
	return nil
}

// turnTo goes to the page that a key belongs to, at number from or behind it.
func (s *search) turnTo(r *resident, from int, head uint64, key []byte) (no int, err error) {
	no = r.seek(from, head, key)
	s.fence = append(s.fence[:0], r.fences[no]...)
	var b []byte
	if r.pages != nil {
		b = r.pages[no]
	} else if b, err = s.read.page(s.fence, r.locs[no]); err != nil {
		return no, err
	}
	return no, s.decodePage(b)
}

// turn is turnTo without anything in memory.
func (s *search) turn(it *pebble.Iterator, key []byte) error {
	if !it.SeekGE(key) {
		if err := it.Error(); err != nil {
			return err
		}
		return fmt.Errorf("%w: no last page", pebble.ErrCorruption)
	}
	s.fence = append(s.fence[:0], it.Key()...)
	l, err := placeOf(it)
	if err != nil {
		return err
	}
	b, err := s.read.page(s.fence, l)
	if err != nil {
		return err
	}
	return s.decodePage(b)
}

func (s *search) decodePage(b []byte) error {
	if !decodePage(b, &s.page) {
		return fmt.Errorf("%w: page", pebble.ErrCorruption)
	}
	return nil
}

// collect turns the hits into records.
func (x *Index) collect(b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	s := &x.scratch
	s.hits, s.hitRows = s.hits[:0], s.hitRows[:0]
	at := int32(0)
	if dst != nil {
		at = int32(dst.N)
	}
	for i, state := range s.state {
		if state != hit {
			found[i] = -1
			continue
		}
		found[i] = at
		if dst != nil {
			at++
		}
		s.hits, s.hitRows = append(s.hits, s.vals[i]), append(s.hitRows, rows[i])
	}
	x.countLookups(len(rows), len(s.hits))
	if dst == nil || len(s.hits) == 0 {
		return nil
	}
	return s.decoder.decode(dst, s.hits, b, s.hitRows)
}
