// Package feedtest has a table in memory for tests of feeds and transports: it
// commits, expires, changes its schema and fails as it is told, and its sources
// behave as [feeds.Source] demands, with cursors at any row.
package feedtest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"sluice/feeds"
	"sluice/paimon/rowdata"
)

// Unit is rows of one partition and bucket.
type Unit struct {
	Partition string
	Bucket    int32
	Rows      *rowdata.Changes
}

// Table is a [feeds.Table] in memory. Its methods may be called from anywhere.
type Table struct {
	mu       sync.Mutex
	identity uint64
	schema   *feeds.Schema
	commits  []commit // of snapshots first, first+1, ...
	earliest int64
	changed  chan struct{} // closed and replaced at each commit
	opens    int
	open     int
	err      error              // what the next reads return
	before   func(feeds.Cursor) // called before each batch, without the lock
	tags     map[string]int64
}

type commit struct {
	info   *feeds.Commit
	schema *feeds.Schema
	units  []Unit
}

// NewTable returns a table without snapshots.
func NewTable(identity uint64, schema *feeds.Schema) *Table {
	return &Table{identity: identity, schema: schema, earliest: 1, changed: make(chan struct{}), tags: map[string]int64{}}
}

// Commit adds a snapshot and returns its number. Without units it changes no row.
func (t *Table) Commit(units ...Unit) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := int64(len(t.commits)) + 1
	info := &feeds.Commit{Snapshot: id, Time: time.UnixMilli(1_764_000_000_000 + 1000*id).UTC(), Kind: "APPEND", Phase: feeds.Changes, User: "test", Identifier: id}
	t.commits = append(t.commits, commit{info: info, schema: t.schema, units: units})
	close(t.changed)
	t.changed = make(chan struct{})
	return id
}

// SetSchema changes the schema of the commits that follow.
func (t *Table) SetSchema(s *feeds.Schema) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.schema = s
}

// Expire drops the changes of snapshots before one.
func (t *Table) Expire(before int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.earliest = before
}

// Recreate drops the table and makes an empty one of the same name.
func (t *Table) Recreate(identity uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.identity, t.commits, t.earliest = identity, nil, 1
	close(t.changed)
	t.changed = make(chan struct{})
}

// Fail makes all reads return an error; nil ends that.
func (t *Table) Fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	close(t.changed)
	t.changed = make(chan struct{})
}

// Before sets a function that is called before each batch is read.
func (t *Table) Before(fn func(feeds.Cursor)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = fn
}

// Sources returns how many sources were opened, and how many are open now.
func (t *Table) Sources() (opened, open int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.opens, t.open
}

// Status implements [feeds.Table].
func (t *Table) Status(context.Context) (feeds.Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := feeds.Status{Latest: int64(len(t.commits)), Schema: t.schema}
	if st.Latest > 0 {
		st.Earliest, st.LatestTime = min(t.earliest, st.Latest), t.commits[st.Latest-1].info.Time
	}
	return st, t.err
}

// At returns the position before the changes of a snapshot.
func (t *Table) At(snapshot int64) feeds.Cursor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.boundary(snapshot)
}

func (t *Table) boundary(snapshot int64) feeds.Cursor {
	return feeds.Cursor{Table: t.identity, Snapshot: snapshot, Phase: feeds.Changes}
}

// Open implements [feeds.Table]. An image has a unit for each bucket, with rows in
// the order of their keys' first change; the key is the first column.
func (t *Table) Open(_ context.Context, s feeds.Start, o feeds.SourceOptions) (feeds.Source, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	latest := int64(len(t.commits))
	src := &Source{t: t, rows: max(1, o.BatchRows)}
	switch s.Mode {
	case feeds.StartEarliest:
		src.at = t.boundary(t.earliest)
	case feeds.StartLatest:
		src.at = t.boundary(latest + 1)
	case feeds.StartFull:
		src.at = t.boundary(latest)
		if src.at.Phase = feeds.Image; latest == 0 {
			src.at = t.boundary(1)
		}
	case feeds.StartSnapshot:
		src.at = t.boundary(s.Snapshot)
	case feeds.StartTime:
		n := t.earliest
		for n <= latest && t.commits[n-1].info.Time.Before(s.Time) {
			n++
		}
		src.at = t.boundary(n)
	case feeds.StartCursor:
		src.at = s.Cursor
	default:
		return nil, &feeds.RequestError{Field: "start", Why: fmt.Sprintf("mode %d is not known to this table", s.Mode)}
	}
	if err := t.check(src.at); err != nil {
		return nil, err
	}
	t.opens++
	t.open++
	return src, nil
}

func (t *Table) check(c feeds.Cursor) error {
	latest := int64(len(t.commits))
	switch {
	case c.Table != t.identity:
		return &feeds.CursorMismatchError{Cursor: c, Reason: "the table was created again"}
	case c.Snapshot < t.earliest:
		return &feeds.CursorExpiredError{Cursor: c, Earliest: t.earliest, Latest: latest}
	case c.Snapshot > latest+1:
		return &feeds.CursorAheadError{Cursor: c, Latest: latest}
	}
	return nil
}

// Source is a [feeds.Source] of a [Table].
type Source struct {
	t      *Table
	rows   int
	at     feeds.Cursor
	image  []Unit // of the snapshot, once made
	closed bool
}

// Cursor implements [feeds.Source].
func (s *Source) Cursor() feeds.Cursor { return s.at }

// Schema implements [feeds.Source].
func (s *Source) Schema() *feeds.Schema {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if n := s.at.Snapshot; n <= int64(len(s.t.commits)) {
		return s.t.commits[n-1].schema
	}
	return s.t.schema
}

// Poke implements [feeds.Source]: this one needs no hint.
func (s *Source) Poke() {}

// Close implements [feeds.Source].
func (s *Source) Close() error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.t.open--
	}
	return nil
}

// Next implements [feeds.Source].
func (s *Source) Next(ctx context.Context) (*feeds.Batch, error) {
	s.t.mu.Lock()
	before := s.t.before
	s.t.mu.Unlock()
	if before != nil {
		before(s.at)
	}
	for {
		b, changed, err := s.locked()
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Source) locked() (b *feeds.Batch, changed <-chan struct{}, err error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.closed {
		return nil, nil, io.ErrClosedPipe
	}
	b, err = s.read()
	return b, s.t.changed, err
}

// read returns the next batch, nil if there is none yet. The table is locked.
func (s *Source) read() (*feeds.Batch, error) {
	if s.t.err != nil {
		return nil, s.t.err
	}
	if err := s.t.check(s.at); err != nil {
		return nil, err
	}
	if s.at.Snapshot > int64(len(s.t.commits)) {
		return nil, nil
	}
	c := s.t.commits[s.at.Snapshot-1]
	units := c.units
	if s.at.Phase == feeds.Image {
		if s.image == nil {
			s.image = s.t.imageAt(s.at.Snapshot)
		}
		info := *c.info
		info.Phase = feeds.Image
		units, c.info = s.image, &info
	}
	next := s.t.boundary(s.at.Snapshot + 1)
	skip := uint64(s.at.Skip)
	s.at.Skip = 0
	first := s.at.Unit == 0 && s.at.Row == 0 && skip == 0
	s.at.Row += skip
	for int(s.at.Unit) < len(units) && s.at.Row > uint64(units[s.at.Unit].Rows.N) {
		s.at.Row -= uint64(units[s.at.Unit].Rows.N)
		s.at.Unit++
	}
	if int(s.at.Unit)+1 < len(units) && s.at.Row == uint64(units[s.at.Unit].Rows.N) {
		s.at.Unit, s.at.Row = s.at.Unit+1, 0
	}
	b := &feeds.Batch{Commit: c.info, Schema: c.schema, At: s.at, First: first}
	b.Rows.Batch = *rowdata.NewBatch(c.schema.Row, 0)
	if first && len(units) > 1 && units[0].Rows.N == 0 { // rows come later
		s.at.Unit = 1
		b.Next = s.at
		return b, nil
	}
	if int(s.at.Unit) >= len(units) && s.at.Row > 0 { // skipped into another snapshot
		next.Skip = uint32(s.at.Row)
	}
	if int(s.at.Unit) < len(units) {
		u := units[s.at.Unit]
		from := int(s.at.Row)
		to := min(u.Rows.N, from+s.rows)
		b.Partition, b.Bucket = u.Partition, u.Bucket
		b.Rows.AppendRange(&u.Rows.Batch, from, to)
		for i := from; i < to; i++ {
			b.Rows.Kinds = append(b.Rows.Kinds, u.Rows.Kind(i))
		}
		if to < u.Rows.N {
			next = s.at.After(to - from)
		} else if int(s.at.Unit)+1 < len(units) {
			next.Snapshot, next.Phase, next.Unit = s.at.Snapshot, s.at.Phase, s.at.Unit+1
		}
	}
	b.Last = next.Snapshot != s.at.Snapshot
	b.Next = next
	s.at = next
	return b, nil
}

// imageAt folds the changes up to a snapshot into its rows, by the first column.
func (t *Table) imageAt(snapshot int64) []Unit {
	type place struct {
		unit *Unit
		row  int
	}
	schema := t.commits[snapshot-1].schema
	last := map[string]place{}
	var order []string
	for n := range snapshot {
		for k := range t.commits[n].units {
			u := &t.commits[n].units[k]
			for i := range u.Rows.N {
				key := string(rowdata.AppendText(nil, u.Rows.Cols[0], i))
				if _, seen := last[key]; !seen {
					order = append(order, key)
				}
				if last[key] = (place{u, i}); u.Rows.Kind(i).IsRetract() {
					last[key] = place{}
				}
			}
		}
	}
	var units []Unit
	index := map[string]int{}
	for _, key := range order {
		p := last[key]
		if p.unit == nil {
			continue
		}
		name := fmt.Sprint(p.unit.Partition, p.unit.Bucket)
		at, ok := index[name]
		if !ok {
			at = len(units)
			index[name] = at
			units = append(units, Unit{Partition: p.unit.Partition, Bucket: p.unit.Bucket, Rows: &rowdata.Changes{Batch: *rowdata.NewBatch(schema.Row, 0)}})
		}
		into := units[at].Rows
		for c, v := range into.Cols {
			if c < len(p.unit.Rows.Cols) {
				v.AppendFrom(p.unit.Rows.Cols[c], p.row)
			} else {
				v.AppendNull() // written before the column was added
			}
		}
		into.CloseRow()
	}
	return units
}
