package lookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// databaseFormat is fixed so that a new release of the library does not
	// change files by itself.
	databaseFormat = pebble.FormatValueSeparation
	// Nothing is ever put into memtables; tables are ingested.
	memtableBytes = 256 << 10
	blockBytes    = 8 << 10
	// tableBytes is the size of tables on disk, as far as the writer can tell.
	tableBytes = 16 << 20
	// baseLevelBytes is how large the last level grows before there is a level
	// between it and level 0: up to there each key is rewritten once for each
	// compactTables pushes.
	baseLevelBytes = 96 << 20
	compactTables  = 4 // tables on level 0 that begin a compaction
	stallTables    = 12
	// keyBundleRows is how many keys of a block share a prefix: the library's default.
	keyBundleRows = 16
)

// store is an open database of one generation of an index.
type store struct {
	db      *pebble.DB
	opts    *pebble.Options
	guard   *guardFS
	dir     string
	onError func(error)
	room    chan struct{} // a compaction has ended; of capacity 1
}

// openStore opens the database in dir, which is made if it is missing.
func (c *Cache) openStore(dir string, guard *guardFS, generation uint64, onError func(error)) (*store, error) {
	s := &store{dir: dir, onError: onError, room: make(chan struct{}, 1), guard: guard}
	// Each table and manifest names its comparer. As the name has the generation
	// in it, no file of another index is ever taken for one of this.
	comparer := *pebble.DefaultComparer
	comparer.Name = fmt.Sprintf("sluice.lookup.%d.%016x", formatVersion, generation)
	// A table that names another way of encoding keys would make the database panic,
	// where one that names another comparer is an error.
	keys := colblk.DefaultKeySchema(pebble.DefaultComparer, keyBundleRows)
	s.opts = &pebble.Options{
		FS:                          s.guard,
		KeySchema:                   keys.Name,
		KeySchemas:                  sstable.MakeKeySchemas(&keys),
		FormatMajorVersion:          databaseFormat,
		Comparer:                    &comparer,
		DisableWAL:                  true,
		Cache:                       c.blocks,
		FileCache:                   c.files,
		MemTableSize:                memtableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       compactTables,
		L0StopWritesThreshold:       1 << 20, // we wait ourselves, see store.wait
		LBaseMaxBytes:               baseLevelBytes,
		Logger:                      storeLogger{s},
	}
	for i := range s.opts.Levels {
		s.opts.Levels[i].BlockSize = blockBytes
		// What is in pages is without a pattern: there is nothing to compress.
		s.opts.Levels[i].Compression = func() *block.CompressionProfile { return block.NoCompression }
	}
	for i := range s.opts.TargetFileSizes {
		s.opts.TargetFileSizes[i] = tableBytes
	}
	s.opts.EventListener = &pebble.EventListener{
		BackgroundError: s.fail,
		DataCorruption:  func(i pebble.DataCorruptionInfo) { s.fail(fmt.Errorf("%w: %w", pebble.ErrCorruption, i.Details)) },
		CompactionEnd: func(pebble.CompactionInfo) {
			select {
			case s.room <- struct{}{}:
			default:
			}
		},
	}
	s.opts.EnsureDefaults()
	db, err := pebble.Open(dir, s.opts)
	if err != nil {
		return nil, err
	}
	s.db = db
	return s, nil
}

// fail stops the database from writing on. It may be called by any goroutine,
// with locks of the database held.
func (s *store) fail(err error) {
	if !s.guard.frozen.Swap(true) {
		s.onError(err)
	}
}

// storeLogger takes what the database logs: only what it cannot go on after.
type storeLogger struct{ s *store }

func (storeLogger) Infof(string, ...any)  {}
func (storeLogger) Errorf(string, ...any) {}
func (l storeLogger) Fatalf(format string, args ...any) {
	l.s.fail(fmt.Errorf(format, args...))
}

func (s *store) close() error { return s.db.Close() }

// meta reads what the database says about itself; ok is false if it was never
// written to.
func (s *store) meta(generation uint64) (m meta, ok bool, err error) {
	b, closer, err := s.db.Get(metaKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return meta{}, false, nil
	}
	if err != nil {
		return meta{}, false, err
	}
	m, ok = decodeMeta(b, generation)
	if err := closer.Close(); err != nil {
		return meta{}, false, err
	}
	if !ok {
		return meta{}, false, fmt.Errorf("%w: not what this generation wrote", pebble.ErrCorruption)
	}
	return m, true, nil
}

// empty tells whether there is no key at all.
func (s *store) empty() (bool, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return false, err
	}
	found := it.First()
	return !found, it.Close()
}

// ingest adds tables, in which keys are ascending throughout, all or none; with
// alone they are all that there is afterwards.
func (s *store) ingest(ctx context.Context, paths []string, alone bool) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	var err error
	if alone {
		_, err = s.db.IngestAndExcise(ctx, paths, nil, nil, pebble.KeyRange{Start: []byte{0}, End: []byte{metaPrefix + 1}})
	} else {
		err = s.db.Ingest(ctx, paths)
	}
	if err != nil {
		return err
	}
	if s.guard.frozen.Load() {
		return errFrozen
	}
	return nil
}

// wait returns when compactions have not fallen too far behind.
func (s *store) wait(ctx context.Context) error {
	for s.db.Metrics().Levels[0].Sublevels >= stallTables {
		if s.guard.frozen.Load() {
			return errFrozen
		}
		select {
		case <-s.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// tableWriter writes changes in ascending key order to tables beside the
// database.
type tableWriter struct {
	s     *store
	name  func(n int) string
	w     *sstable.Writer
	bytes int64 // of keys and values, in the table
	paths []string
}

func (t *tableWriter) add(key, value []byte, del bool) error {
	if t.w == nil || t.bytes >= 3*tableBytes {
		if err := t.rotate(); err != nil {
			return err
		}
	}
	t.bytes += int64(len(key) + len(value))
	if del {
		return t.w.Delete(key)
	}
	return t.w.Set(key, value)
}

func (t *tableWriter) rotate() error {
	if err := t.finish(); err != nil {
		return err
	}
	path := t.name(len(t.paths))
	f, err := t.s.guard.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	t.paths = append(t.paths, path)
	t.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), t.s.opts.MakeWriterOptions(0, t.s.db.TableFormat()))
	t.bytes = 0
	return nil
}

// finish makes the tables durable.
func (t *tableWriter) finish() error {
	if t.w == nil {
		return nil
	}
	w := t.w
	t.w = nil
	return w.Close()
}

// remove deletes what was written and not ingested.
func (t *tableWriter) remove() {
	_ = t.finish()
	for _, p := range t.paths {
		_ = t.s.guard.FS.Remove(p)
	}
	t.paths = nil
}
