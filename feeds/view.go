package feeds

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"sluice/paimon/rowdata"
)

// View is what a subscriber wants to see of a feed. Subscriptions with equal
// views share encodings.
type View struct {
	// Encoder makes the bytes of deliveries. Nil: deliveries have no bytes, and
	// the transport works on the frames.
	Encoder Encoder
	// Columns are the columns to show, in this order. Empty: all.
	Columns []string
	// MaxRows is the most rows in a delivery, 0: DefaultMaxRows.
	MaxRows int
	// MaxBytes is the most bytes of a delivery, unless one row is larger; 0:
	// DefaultMaxBytes.
	MaxBytes int
	// Transient: the transport is done with the bytes of a delivery when it asks
	// for the next one. They are made in one buffer of the subscription, neither
	// shared nor kept in the window, which suits a format with a single subscriber.
	Transient bool
}

// Sizes of deliveries, if a view leaves them open.
const (
	DefaultMaxRows  = 1024
	DefaultMaxBytes = 1 << 20 / 2

	// LimitMaxRows and LimitMaxBytes are the greatest sizes that can be asked
	// for: with the frame around it, a message stays below 1 MB.
	LimitMaxRows  = 100_000
	LimitMaxBytes = 1<<20 - 1<<12
)

// Encoder turns frames into bytes of one format. Encoders are compared with ==:
// equal ones make equal bytes. They are called by many goroutines.
type Encoder interface {
	// Append appends the bytes of an event to dst.
	Append(dst []byte, e *Event) ([]byte, error)
	// Name is a short name of the format, for metrics.
	Name() string
}

// Event is a frame as an encoder sees it, with the columns of a view.
type Event struct {
	*Frame
	Schema   *Schema           // columns of the view; nil if the frame has none
	Cols     []*rowdata.Vector // columns of the view
	From, To int               // rows to encode
}

// viewKey tells views apart. Columns are told apart by their ids.
type viewKey struct {
	enc             Encoder
	columns         string
	maxRows, maxByt int
	transient       bool
}

// view is a [View] that is in use.
type view struct {
	key  viewKey
	ids  []int // field ids of the columns, nil: all
	refs int   // subscriptions; guarded by the feed's lock

	bytesPerRow atomic.Int64 // of the last encoding, to guess the size of the next

	mu       sync.Mutex
	schemas  map[int64]projected // by schema id
	scratch  sync.Pool           // of *[]byte, in which chunks are made
	shared   atomic.Int64        // frames whose bytes were there
	encoded  atomic.Int64        // encodings made for the window
	encBytes atomic.Int64        // bytes of them
}

type projected struct {
	schema *Schema
	cols   []int // positions, nil: all
}

// normalize checks a view and fills in what it leaves open.
func (v View) normalize() (View, error) {
	if v.MaxRows == 0 {
		v.MaxRows = DefaultMaxRows
	}
	if v.MaxBytes == 0 {
		v.MaxBytes = DefaultMaxBytes
	}
	if v.MaxRows < 0 || v.MaxRows > LimitMaxRows {
		return v, &RequestError{Field: "limits.max_rows", Why: fmt.Sprintf("%d: want 1 to %d", v.MaxRows, LimitMaxRows)}
	}
	if v.MaxBytes < 0 {
		return v, &RequestError{Field: "limits.max_bytes", Why: fmt.Sprintf("%d: want 1 to %d", v.MaxBytes, LimitMaxBytes)}
	}
	v.MaxBytes = min(v.MaxBytes, LimitMaxBytes)
	return v, nil
}

// key resolves the columns by the schema that the subscription begins with.
func (v View) resolve(s *Schema) (viewKey, []int, error) {
	key := viewKey{enc: v.Encoder, maxRows: v.MaxRows, maxByt: v.MaxBytes, transient: v.Transient}
	if len(v.Columns) == 0 {
		return key, nil, nil
	}
	if s == nil {
		return key, nil, &RequestError{Field: "columns", Why: "the table has no schema yet"}
	}
	ids := make([]int, len(v.Columns))
	var text strings.Builder
	for i, name := range v.Columns {
		at := s.Row.Index(name)
		if at < 0 {
			return key, nil, &RequestError{Field: "columns", Why: fmt.Sprintf("no column %q in schema %d, which has %s", name, s.ID, strings.Join(s.Row.Names(), ", "))}
		}
		ids[i] = s.Row.Fields[at].ID
		text.WriteString(strconv.Itoa(ids[i]))
		text.WriteByte(',')
	}
	key.columns = text.String()
	return key, ids, nil
}

// project returns the schema and the positions of the view's columns.
func (v *view) project(s *Schema) (projected, error) {
	if v.ids == nil || s == nil {
		return projected{schema: s}, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if p, ok := v.schemas[s.ID]; ok {
		return p, nil
	}
	p := projected{cols: make([]int, len(v.ids))}
	for i, id := range v.ids {
		at := s.Row.IndexID(id)
		if at < 0 {
			return p, &SchemaError{SchemaID: s.ID, Why: fmt.Sprintf("a column of this subscription (field %d) was dropped; subscribe without it", id)}
		}
		p.cols[i] = at
	}
	p.schema = &Schema{ID: s.ID, Row: s.Row.Project(p.cols), PrimaryKey: s.PrimaryKey, PartitionKey: s.PartitionKey}
	if v.schemas == nil || len(v.schemas) >= 64 {
		v.schemas = map[int64]projected{}
	}
	v.schemas[s.ID] = p
	return p, nil
}

// chunk is a part of a frame that fits one delivery. Its bytes are an allocation of
// their own: a message on its way to a slow reader holds these, not the frame's.
type chunk struct {
	from, to int
	counts   Counts
	bytes    []byte
}

// encoding is a frame in the form of a view.
type encoding struct {
	view   *view
	once   sync.Once
	chunks []chunk
	bytes  int
	err    error
	ready  bool // made without an error; guarded by the feed's lock
}

// event returns a frame with the columns of the view.
func (v *view) event(f *Frame) (*Event, error) {
	p, err := v.project(f.Schema)
	if err != nil {
		return nil, err
	}
	ev := &Event{Frame: f, Schema: p.schema}
	if f.Rows != nil {
		ev.Cols = f.Rows.Cols
		if p.cols != nil {
			ev.Cols = make([]*rowdata.Vector, len(p.cols))
			for i, c := range p.cols {
				ev.Cols[i] = f.Rows.Cols[c]
			}
		}
	}
	return ev, nil
}

// encode makes the chunks of rows from..to of a frame.
func (v *view) encode(f *Frame, from, to int) *encoding {
	e := &encoding{view: v}
	ev, err := v.event(f)
	if err != nil {
		e.err = err
		return e
	}
	room, _ := v.scratch.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	defer v.scratch.Put(room)
	if from >= to {
		e.add(ev, 0, 0, room)
		return e
	}
	for at := from; at < to && e.err == nil; {
		end := e.fit(ev, at, v.end(f.Rows, at, to), room)
		e.keep(ev, at, end, room)
		at = end
	}
	if e.err == nil {
		v.bytesPerRow.Store(int64(e.bytes/(to-from) + 1))
	}
	return e
}

// encodeFirst makes the first chunk of rows from..to of a frame, with its bytes in
// room.
func (v *view) encodeFirst(f *Frame, from, to int, room *[]byte) (chunk, error) {
	ev, err := v.event(f)
	if err != nil {
		return chunk{}, err
	}
	e := encoding{view: v}
	c := chunk{from: from, to: from}
	if from >= to {
		e.make(ev, from, to, room)
	} else {
		c.to = e.fit(ev, from, v.end(f.Rows, from, to), room)
		c.counts = countKinds(f.Rows, from, c.to)
		v.bytesPerRow.Store(int64(len(*room)/(c.to-from) + 1))
	}
	c.bytes = *room
	return c, e.err
}

// end guesses the end of a chunk that begins with row from.
func (v *view) end(c *rowdata.Changes, from, to int) int {
	end := min(to, from+v.key.maxRows)
	if perRow := int(v.bytesPerRow.Load()); perRow > 0 {
		end = min(end, from+max(1, v.key.maxByt/perRow))
	}
	return pairEnd(c, from, end, to)
}

// fit puts the bytes of a chunk into room that begins with row from and ends at row
// to, or sooner if its bytes are too many. It returns the end.
func (e *encoding) fit(ev *Event, from, to int, room *[]byte) int {
	for {
		size := e.make(ev, from, to, room)
		most := e.view.key.maxByt
		if e.err != nil || size <= most || to-from == 1 {
			return to
		}
		// Too large: take as many rows as should fit.
		fewer := max(1, min(to-from-1, (to-from)*(most-most/16)/size))
		if end := pairEnd(ev.Rows, from, from+fewer, to); end < to {
			to = end
		} else {
			to = from + fewer
		}
	}
}

// add adds rows from..to as a chunk.
func (e *encoding) add(ev *Event, from, to int, room *[]byte) {
	e.make(ev, from, to, room)
	e.keep(ev, from, to, room)
}

// make encodes rows from..to into room and returns how many bytes they take.
func (e *encoding) make(ev *Event, from, to int, room *[]byte) int {
	*room = (*room)[:0]
	if e.view.key.enc == nil {
		return 0
	}
	ev.From, ev.To = from, to
	out, err := e.view.key.enc.Append(*room, ev)
	if err != nil {
		e.err = fmt.Errorf("encode as %s: %w", e.view.key.enc.Name(), err)
		return 0
	}
	*room = out
	return len(out)
}

// keep adds what is in room as the chunk of rows from..to.
func (e *encoding) keep(ev *Event, from, to int, room *[]byte) {
	if e.err != nil {
		return
	}
	c := chunk{from: from, to: to}
	if e.view.key.enc != nil {
		c.bytes = append([]byte(nil), *room...) // as make and copy, but nothing is zeroed before
	}
	if ev.Rows != nil {
		c.counts = countKinds(ev.Rows, from, to)
	}
	e.chunks = append(e.chunks, c)
	e.bytes += len(c.bytes) + chunkOverhead
}

// chunkOverhead is about what a chunk takes beside its bytes.
const chunkOverhead = 96

// parts returns the chunks of rows from..to, if they begin and end there.
func (e *encoding) parts(from, to int) ([]chunk, bool) {
	first := sort.Search(len(e.chunks), func(i int) bool { return e.chunks[i].from >= from })
	if first == len(e.chunks) || e.chunks[first].from != from {
		return nil, false
	}
	last := first + sort.Search(len(e.chunks)-first, func(i int) bool { return e.chunks[first+i].to >= to })
	if last == len(e.chunks) || e.chunks[last].to != to {
		return nil, false
	}
	return e.chunks[first : last+1], true
}

// pairEnd moves the end of a chunk so that the two rows of an update stay
// together, unless the chunk would be empty.
func pairEnd(c *rowdata.Changes, from, end, to int) int {
	if c.Kinds == nil || end >= to || c.Kinds[end-1] != rowdata.UpdateBefore || c.Kinds[end] != rowdata.UpdateAfter {
		return end
	}
	if end-1 > from {
		return end - 1
	}
	return end
}

// of returns the shared encoding of a frame in the window, and makes it if this
// is the first call. made tells that.
func (v *view) of(f *Frame) (e *encoding, made bool) {
	f.mu.Lock()
	for _, have := range f.encs {
		if have.view == v {
			e = have
			break
		}
	}
	if e == nil {
		e = &encoding{view: v}
		f.encs = append(f.encs, e)
	}
	f.mu.Unlock()
	e.once.Do(func() {
		made = true
		m := v.encode(f, 0, f.n())
		e.chunks, e.bytes, e.err = m.chunks, m.bytes, m.err
	})
	if made {
		v.encoded.Add(1)
		v.encBytes.Add(int64(e.bytes))
	} else {
		v.shared.Add(1)
	}
	return e, made
}
