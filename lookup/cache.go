package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Cache is the indexes of a process: it shares out memory, open files and open
// databases among them. It may be used by any number of goroutines.
type Cache struct {
	opts   Options
	dir    string // the slot of this process
	lock   io.Closer
	blocks *pebble.Cache
	files  *pebble.FileCache

	written  atomic.Int64 // bytes, since OpenCache
	recent   atomic.Int64 // bytes of all indexes' runs
	resident atomic.Int64 // bytes of all indexes' pages in memory
	counts   counters

	background sync.WaitGroup // databases of failed indexes being closed

	mu struct {
		sync.Mutex
		closed  bool
		indexes map[string]*Index // open ones by folder
	}
}

// OpenCache opens a cache folder, which is made if it is missing. The error is a
// [*LockedError] if other processes hold all its slots.
func OpenCache(o Options) (*Cache, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Cache{opts: o}
	c.mu.indexes = map[string]*Index{}
	if err := c.takeSlot(); err != nil {
		return nil, err
	}
	c.blocks = pebble.NewCache(o.BlockCacheBytes)
	c.files = pebble.NewFileCache(fileShards, o.OpenFilesMax)
	return c, nil
}

// fileShards is into how many parts the cache of open files is cut.
const fileShards = 4

// takeSlot locks the first free slot of the folder.
func (c *Cache) takeSlot() error {
	fs := c.opts.fs
	for n := range c.opts.ProcessesMax {
		dir := fs.PathJoin(c.opts.Dir, strconv.Itoa(n))
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("lookup cache: %w", err)
		}
		if lock, err := fs.Lock(fs.PathJoin(dir, "LOCK")); err == nil {
			c.dir, c.lock = dir, lock
			return nil
		}
	}
	return &LockedError{Dir: c.opts.Dir, Processes: c.opts.ProcessesMax}
}

// Open opens the index of a bucket. What it finds on disk may be of no use:
// damaged, of another table, of other columns, of another version of this code.
// It then begins with an empty index, whose State is not ok, and counts why. The
// error is ErrInUse if the index is open already.
func (c *Cache) Open(ctx context.Context, id ID, spec Spec) (*Index, error) {
	x, err := c.newIndex(id, spec)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	switch {
	case c.mu.closed:
		err = ErrClosed
	case c.mu.indexes[x.folder] != nil:
		err = fmt.Errorf("index %s: %w", id, ErrInUse)
	default:
		c.mu.indexes[x.folder] = x
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.load(ctx); err != nil {
		x.closed = true
		c.forget(x)
		return nil, fmt.Errorf("open index %s: %w", id, err)
	}
	return x, nil
}

func (c *Cache) forget(x *Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.indexes[x.folder] == x {
		delete(c.mu.indexes, x.folder)
	}
}

// Drop deletes an index that is not open: that of a bucket that is gone.
func (c *Cache) Drop(ctx context.Context, id ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	folder := id.folder()
	c.mu.Lock()
	open, closed := c.mu.indexes[folder] != nil, c.mu.closed
	c.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case open:
		return fmt.Errorf("drop index %s: %w", id, ErrInUse)
	}
	fs := c.opts.fs
	if err := fs.RemoveAll(fs.PathJoin(c.dir, folder)); err != nil {
		return fmt.Errorf("drop index %s: %w", id, err)
	}
	return nil
}

// open returns the indexes that are open now.
func (c *Cache) open() []*Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Index, 0, len(c.mu.indexes))
	for _, x := range c.mu.indexes {
		all = append(all, x)
	}
	return all
}

// CloseIdle writes out and closes the databases of indexes that have not been
// used for Options.IdleClose. They stay usable: the next use opens them again.
func (c *Cache) CloseIdle() error {
	before := c.opts.Now().Add(-c.opts.IdleClose)
	var errs []error
	for _, x := range c.open() {
		if used := x.used.Load(); used > before.UnixNano() || !x.mu.TryLock() {
			continue
		}
		errs = append(errs, x.park(closing()))
		x.mu.Unlock()
	}
	return errors.Join(errs...)
}

// makeRoom closes databases that have not been used for longest until one more
// may be open. The caller holds the lock of x; others that are busy are passed
// over, so that there may be one more open for each goroutine at work.
func (c *Cache) makeRoom(ctx context.Context, x *Index) {
	for {
		var victim *Index
		n := 0
		for _, y := range c.open() {
			if y == x || !y.loaded.Load() {
				continue
			}
			n++
			if victim == nil || y.used.Load() < victim.used.Load() {
				victim = y
			}
		}
		if n < c.opts.OpenIndexesMax || !victim.mu.TryLock() {
			return
		}
		// An error is the victim's: it has failed and will say so when asked.
		_ = victim.park(ctx)
		victim.mu.Unlock()
	}
}

// shed writes out recent changes until they are within their bound: those of the
// index that has most, but for indexes that are busy, in whose place comes x. The
// caller holds the lock of x.
func (c *Cache) shed(ctx context.Context, x *Index) error {
	for c.recent.Load() > c.opts.RecentBytes {
		victim := x
		for _, y := range c.open() {
			if y.recent.Load() > victim.recent.Load() {
				victim = y
			}
		}
		if victim != x && victim.mu.TryLock() {
			// An error is the victim's: it has failed and will say so when asked.
			_ = victim.push(ctx)
			victim.mu.Unlock()
			continue
		}
		if len(x.runs) == 0 {
			return nil
		}
		if err := x.push(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close writes out and closes all indexes.
func (c *Cache) Close() error {
	c.mu.Lock()
	closed := c.mu.closed
	c.mu.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, x := range c.open() {
		errs = append(errs, x.Close())
	}
	c.background.Wait()
	c.files.Unref()
	c.blocks.Unref()
	return errors.Join(append(errs, c.lock.Close())...)
}
