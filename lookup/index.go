package lookup

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"sluice/paimon/rowdata"
)

// Index is the index of a bucket. It may be used by several goroutines, which
// take turns.
//
// Newest first, a key's last change is in a finished stage, in one of the runs
// of committed changes in memory, or in a page of the database. Each says where in
// the log the value is.
type Index struct {
	cache  *Cache
	id     ID
	folder string // name
	dir    string // path
	spec   [16]byte
	keys   *keyCodec
	values *valueCodec
	row    *rowdata.RowType

	used                  atomic.Int64 // when, in nanoseconds
	loaded                atomic.Bool  // store is not nil
	recent                atomic.Int64 // bytes of runs
	residentBytes         atomic.Int64 // of pages in memory
	diskBytes             atomic.Int64
	liveKeys              atomic.Int64 // in pages
	stageIDs              atomic.Uint64
	stageBytes, stageRows atomic.Int64 // of the last stage
	counts                counters
	broken                atomic.Pointer[error] // why the index is of no use until it is rebuilt
	state                 atomic.Pointer[State] // what Lookup sees without stages; nil: none
	epoch                 atomic.Uint64         // grows when the content is dropped, which ends all stages

	mu         sync.Mutex // held throughout an operation; what follows is guarded by it
	closed     bool
	generation uint64
	guard      *guardFS         // through which the present generation is written
	store      *store           // nil: not open
	pages      *pebble.Iterator // over the database; nil: not in use
	inMemory   *resident        // all pages; nil: not held
	tooLarge   bool             // pages are not to be held until the next push
	log        *valueLog        // nil until the generation is opened
	meta       meta             // of the database
	ordinal    uint64           // of the last commit
	pushed     int64            // bytes of the log at the last push
	onDisk     *State           // what the database reflects; nil: it is empty
	runs       []*run           // committed changes that are not in the database, older first
	stages     []*Stage
	tables     int // number of the next table file
	scratch    search
}

func (c *Cache) newIndex(id ID, spec Spec) (*Index, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	print, err := spec.fingerprint()
	if err != nil {
		return nil, err
	}
	x := &Index{cache: c, id: id, folder: id.folder(), spec: print, row: spec.Row, keys: newKeyCodec(spec), values: newValueCodec(spec)}
	x.dir = c.opts.fs.PathJoin(c.dir, x.folder)
	x.scratch.decoder.codec = x.values
	// Stages of different processes never have the same number.
	x.stageIDs.Store(rand64() >> 1)
	x.touch()
	return x, nil
}

func (x *Index) touch() { x.used.Store(x.cache.opts.Now().UnixNano()) }

// ID returns what the index was opened as.
func (x *Index) ID() ID { return x.id }

// State returns what the index reflects: the state of the last commit or
// rebuild. It is not ok for an index that was never committed to, or that has
// failed; such an index is empty. It does not wait for other operations.
func (x *Index) State() (s State, ok bool) {
	p := x.state.Load()
	if p == nil || x.broken.Load() != nil {
		return State{}, false
	}
	return *p, true
}

// load makes the index ready for its first use.
func (x *Index) load(ctx context.Context) error {
	why, err := x.find(ctx)
	if err != nil {
		return err
	}
	x.count(why)
	if why == Valid {
		return nil
	}
	return x.reset(ctx)
}

// find opens what is on disk and tells what it is worth.
func (x *Index) find(ctx context.Context) (Outcome, error) {
	disk := x.cache.opts.fs
	d, err := readIdentity(disk, x.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Missing, nil
	}
	if err != nil {
		return Corrupt, nil
	}
	switch {
	case d.Format != formatVersion:
		return OtherFormat, nil
	case d.Index != x.id:
		return Foreign, nil
	case d.Spec != hex.EncodeToString(x.spec[:]):
		return OtherSchema, nil
	}
	g, _ := hex.DecodeString(d.Generation)
	x.generation = binary.BigEndian.Uint64(g)
	x.guard = x.cache.newGuard()
	x.sweep(true)
	if _, err := disk.Stat(x.generationDir()); err != nil {
		return Corrupt, nil
	}
	if err := x.openStore(ctx); err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return Corrupt, nil
	}
	m, ok, err := x.store.meta(x.generation)
	if err == nil && !ok {
		// Pages never come without it.
		if ok, err = x.store.empty(); err == nil && !ok {
			err = errors.New("pages of nothing")
		}
	} else if ok {
		x.written(m)
		x.state.Store(&m.state)
	}
	if err == nil {
		err = x.openLog(ctx, m)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil || x.broken.Load() != nil {
		return Corrupt, nil
	}
	if x.state.Load() == nil {
		return Missing, nil
	}
	return Valid, nil
}

func (x *Index) generationDir() string {
	return x.cache.opts.fs.PathJoin(x.dir, fmt.Sprintf("g%016x", x.generation))
}

func (x *Index) tempDir() string { return x.generationDir() + ".tmp" }

func (x *Index) logDir() string { return x.generationDir() + ".log" }

// tableName returns a name for a table that is not in the database yet.
func (x *Index) tableName(int) string {
	x.tables++
	return x.cache.opts.fs.PathJoin(x.tempDir(), fmt.Sprintf("%06d.sst", x.tables))
}

// sweep deletes what other generations have left and, with temp, tables of work
// that was cut short.
func (x *Index) sweep(temp bool) {
	disk := x.cache.opts.fs
	names, err := disk.List(x.dir)
	if err != nil {
		return
	}
	for _, name := range names {
		switch {
		case name == identityName || name == disk.PathBase(x.generationDir()) || name == disk.PathBase(x.logDir()):
		case name == disk.PathBase(x.tempDir()) && !temp:
		default:
			_ = disk.RemoveAll(disk.PathJoin(x.dir, name))
		}
	}
}

// reset makes the index an empty one of a new generation, whatever it was.
func (x *Index) reset(ctx context.Context) error {
	x.clear()
	if err := x.newGeneration(ctx); err != nil {
		return err
	}
	return x.adopt()
}

// clear drops all content from memory, stages included.
func (x *Index) clear() {
	x.epoch.Add(1)
	for _, s := range x.stages {
		s.drop()
	}
	x.stages = nil
	x.setRuns(nil)
	x.closeStore()
	if x.log != nil {
		x.log.close()
	}
	x.log, x.meta, x.ordinal = nil, meta{}, 0
	x.onDisk = nil
	x.diskBytes.Store(0)
	x.state.Store(nil)
}

// newGeneration opens an empty database beside the present one. Nothing refers
// to it yet.
func (x *Index) newGeneration(ctx context.Context) error {
	x.generation = rand64()
	x.guard = x.cache.newGuard()
	x.log = x.newLog()
	x.broken.Store(nil)
	return x.openStore(ctx)
}

func rand64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// adopt makes the present generation the one that counts.
func (x *Index) adopt() error {
	err := writeIdentity(x.cache.opts.fs, x.dir, identity{
		Format:     formatVersion,
		Index:      x.id,
		Spec:       hex.EncodeToString(x.spec[:]),
		Generation: fmt.Sprintf("%016x", x.generation),
	})
	if err != nil {
		x.closeStore()
		return err
	}
	x.sweep(false)
	return nil
}

// openStore opens the database of the present generation if it is not open.
func (x *Index) openStore(ctx context.Context) error {
	x.touch()
	if x.store != nil {
		return nil
	}
	x.cache.makeRoom(ctx, x)
	disk := x.cache.opts.fs
	if err := disk.MkdirAll(x.tempDir(), 0o755); err != nil {
		return err
	}
	generation := x.generation
	s, err := x.cache.openStore(x.generationDir(), x.guard, generation, func(err error) { x.fail(generation, err) })
	if err != nil {
		return err
	}
	x.store = s
	x.loaded.Store(true)
	return nil
}

func (x *Index) closeStore() {
	if x.store == nil {
		return
	}
	x.closeIterator()
	x.setResident(nil)
	_ = x.store.close()
	x.store = nil
	x.loaded.Store(false)
}

// fail marks the index as broken and closes its database from a goroutine of its
// own, since a database that has failed tries again and again.
func (x *Index) fail(generation uint64, err error) {
	x.setBroken(err)
	x.cache.background.Go(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.generation == generation {
			x.bury()
		}
	})
}

// setBroken makes err the answer of every operation until a rebuild.
func (x *Index) setBroken(err error) {
	if isCorruption(err) {
		err = &CorruptError{x.id, err}
		if x.broken.CompareAndSwap(nil, &err) {
			x.count(CorruptInUse)
		}
		return
	}
	err = &FailedError{x.id, err}
	if x.broken.CompareAndSwap(nil, &err) {
		x.count(Failed)
	}
}

func isCorruption(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, errValue) || errors.Is(err, errRecord)
}

// bury drops what the index has, on disk too.
func (x *Index) bury() {
	x.clear()
	_ = x.cache.opts.fs.Remove(x.cache.opts.fs.PathJoin(x.dir, identityName))
	_ = x.cache.opts.fs.RemoveAll(x.generationDir())
	_ = x.cache.opts.fs.RemoveAll(x.logDir())
}

// failed turns an error of the database into that of the index. Errors of ctx
// leave the index as it is.
func (x *Index) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	x.setBroken(err)
	x.bury()
	return *x.broken.Load()
}

// begin takes the turn of an operation and opens the database. Unless there is an
// error, the caller must unlock x.mu.
func (x *Index) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x.mu.Lock()
	err := x.ready(ctx)
	if err != nil {
		x.mu.Unlock()
	}
	return err
}

// usable tells why the index is of no use.
func (x *Index) usable() error {
	if x.closed {
		return fmt.Errorf("index %s: %w", x.id, ErrClosed)
	}
	if err := x.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// ready is begin in the turn of the caller.
func (x *Index) ready(ctx context.Context) error {
	if err := x.usable(); err != nil {
		return err
	}
	if x.store != nil {
		x.touch()
		return nil
	}
	if err := x.openStore(ctx); err != nil {
		return x.failed(ctx, err)
	}
	// Another process may have been at the files, a person say.
	m, ok, err := x.store.meta(x.generation)
	if err == nil && (ok != (x.onDisk != nil) || ok && (m.state != *x.onDisk || m.ordinal != x.meta.ordinal)) {
		err = fmt.Errorf("%w: state is not what was written", pebble.ErrCorruption)
	}
	if err != nil {
		return x.failed(ctx, err)
	}
	return nil
}

func (x *Index) setRuns(runs []*run) {
	x.runs = runs
	n := runsSize(runs)
	x.cache.recent.Add(n - x.recent.Swap(n))
}

// park writes out what is in memory and closes the database.
func (x *Index) park(ctx context.Context) error {
	if x.closed || x.broken.Load() != nil {
		return nil
	}
	if err := x.push(ctx); err != nil {
		return err
	}
	x.closeStore()
	if x.log == nil {
		return nil
	}
	return x.log.closeFiles()
}

// closing returns the context of a close, which runs to its end.
func closing() context.Context { return context.Background() }

// Flush writes what is committed to disk, so that a crash of the machine does not
// lose it. A commit alone does not: it is not synced.
func (x *Index) Flush(ctx context.Context) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	defer x.mu.Unlock()
	return x.push(ctx)
}

// Close writes out what is committed and closes the index. Stages that are not
// committed are discarded.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	err := x.park(closing())
	x.clear()
	x.closed = true
	x.cache.forget(x)
	return err
}
