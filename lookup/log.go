package lookup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/internal/failpoint"
)

const (
	segmentBytesMax = 1 << 30
	// segmentsWanted is about how many segments a log is cut into, so that it
	// takes a bounded number of open files.
	segmentsWanted = 16
	// segmentsMany is from how many on no segment is cut short.
	segmentsMany = 64
)

// errLogClosed says that the content was dropped that the log belonged to.
var errLogClosed = errors.New("log is closed")

// valueLog holds the values of an index in the order in which they were written,
// in segments that are appended to and never changed. It is both where values are
// read from and what changes are restored from that are not in pages yet.
//
// Appending may be done by several stages at a time; all else needs the turn of
// the index.
type valueLog struct {
	fs         *guardFS
	dir        string
	generation uint64
	segmentMin int64

	mu        sync.Mutex
	closed    bool
	segments  []*segment // ascending; the last one may be being written
	w         vfs.File   // writes the last segment; nil: the next frame begins a segment
	dirSynced bool
	next      uint32            // number of the next segment
	open      map[uint64]uint64 // by stage, where the first frame of those begins that may still be committed
}

// segment is a file of the log.
type segment struct {
	id     uint32
	size   int64
	live   int64 // bytes of records that pages refer to
	synced bool
	r      vfs.File // nil: not open
}

func (x *Index) newLog() *valueLog {
	return &valueLog{
		fs: x.guard, dir: x.logDir(), generation: x.generation, segmentMin: x.cache.opts.log.segmentMin,
		next: 1, open: map[uint64]uint64{},
	}
}

const segmentSuffix = ".log"

func segmentName(id uint32) string { return fmt.Sprintf("%08x%s", id, segmentSuffix) }

func parseSegment(name string) (id uint32, ok bool) {
	hex, found := strings.CutSuffix(name, segmentSuffix)
	if !found {
		return 0, false
	}
	if _, err := fmt.Sscanf(hex, "%08x", &id); err != nil || segmentName(id) != name || id == 0 {
		return 0, false
	}
	return id, true
}

func (l *valueLog) path(id uint32) string { return l.fs.PathJoin(l.dir, segmentName(id)) }

// append writes a frame whose header is set and returns the address of its payload.
func (l *valueLog) append(stage uint64, frame []byte) (base uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, errLogClosed
	}
	if l.w != nil && l.last().size+int64(len(frame)) > l.segmentBytes() {
		if err := l.endSegment(); err != nil {
			return 0, err
		}
	}
	if l.w == nil {
		if err := l.beginSegment(); err != nil {
			return 0, err
		}
	}
	s := l.last()
	at := s.size
	if _, err := l.w.Write(frame); err != nil {
		return 0, fmt.Errorf("write %s: %w", l.path(s.id), err)
	}
	failpoint.Here(failpoint.LookupLogged)
	s.size += int64(len(frame))
	s.synced = false
	if stage != noStage {
		if _, ok := l.open[stage]; !ok {
			l.open[stage] = address(s.id, uint32(at))
		}
	}
	return address(s.id, uint32(at)+frameHeader), nil
}

func (l *valueLog) last() *segment { return l.segments[len(l.segments)-1] }

// segmentBytes returns how large a segment grows.
func (l *valueLog) segmentBytes() int64 {
	live := int64(0)
	for _, s := range l.segments {
		live += s.live
	}
	return min(max(live/segmentsWanted, l.segmentMin), segmentBytesMax)
}

func (l *valueLog) beginSegment() error {
	if l.next == 0 {
		return errors.New("the log has used up its segment numbers")
	}
	if err := l.fs.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	f, err := l.fs.Create(l.path(l.next), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, &segment{id: l.next})
	l.w = f
	l.dirSynced = false
	l.next++
	return nil
}

func (l *valueLog) endSegment() error {
	w := l.w
	l.w = nil
	err := w.Sync()
	l.last().synced = err == nil
	return errors.Join(err, w.Close())
}

// forget says that no commit of the stage will come.
func (l *valueLog) forget(stage uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, stage)
}

// oldest returns from where frames may still be needed for a commit to come.
func (l *valueLog) oldest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := address(l.next, 0)
	if l.w != nil {
		at = address(l.last().id, uint32(l.last().size))
	}
	for _, first := range l.open {
		at = min(at, first)
	}
	return at
}

// sync makes all that was appended durable.
func (l *valueLog) sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Whole segments are synced when they end.
	if l.w != nil && !l.last().synced {
		if err := l.w.Sync(); err != nil {
			return err
		}
		l.last().synced = true
	}
	if l.dirSynced || len(l.segments) == 0 {
		return nil
	}
	err := syncDir(l.fs.FS, l.dir)
	l.dirSynced = err == nil
	return err
}

// reader returns the file of a segment, open for reading until closeFiles or drop.
func (l *valueLog) reader(id uint32) (vfs.File, error) {
	f, _, err := l.readerOf(id)
	return f, err
}

// readerOf is reader that tells the size of the file as well.
func (l *valueLog) readerOf(id uint32) (f vfs.File, size int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(id)
	if s == nil {
		return nil, 0, fmt.Errorf("%w: no segment %d", errRecord, id)
	}
	if s.r == nil {
		f, err := l.fs.Open(l.path(id), vfs.RandomReadsOption)
		if err != nil {
			return nil, 0, err
		}
		s.r = f
	}
	return s.r, s.size, nil
}

// cut ends the segment that is being written, as what follows had better not share
// one with what is before; unless there are many.
func (l *valueLog) cut() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil || len(l.segments) >= segmentsMany {
		return nil
	}
	return l.endSegment()
}

func (l *valueLog) find(id uint32) *segment {
	i, ok := slices.BinarySearchFunc(l.segments, id, func(s *segment, id uint32) int { return int(int64(s.id) - int64(id)) })
	if !ok {
		return nil
	}
	return l.segments[i]
}

// drop deletes segments.
func (l *valueLog) drop(ids []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		s := l.find(id)
		if s == nil || l.w != nil && s == l.last() {
			continue
		}
		if s.r != nil {
			_ = s.r.Close()
		}
		_ = l.fs.Remove(l.path(id)) // what stays is deleted when the index is opened
		l.segments = slices.DeleteFunc(l.segments, func(x *segment) bool { return x == s })
	}
}

// closeFiles closes all files; what follows begins a new segment.
func (l *valueLog) closeFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	if l.w != nil {
		errs = append(errs, l.endSegment())
	}
	for _, s := range l.segments {
		if s.r != nil {
			errs = append(errs, s.r.Close())
			s.r = nil
		}
	}
	return errors.Join(errs...)
}

// close closes the log for good.
func (l *valueLog) close() {
	_ = l.closeFiles()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// bytes returns the size of the log, of one that is not open yet too.
func (l *valueLog) bytes() int64 {
	if l == nil {
		return 0
	}
	size, _ := l.sizes()
	return size
}

// sizes returns the bytes of the log, and of the records that pages refer to.
func (l *valueLog) sizes() (size, live int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		size += s.size
		live += s.live
	}
	return size, live
}

// extent is what the pages' database knows of a segment.
type extent struct {
	id         uint32
	size, live int64
}

// extents returns all segments, without those whose numbers are in gone and with
// what changes of their live bytes.
func (l *valueLog) extents(change map[uint32]int64, gone []uint32) []extent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]extent, 0, len(l.segments))
	for _, s := range l.segments {
		if !slices.Contains(gone, s.id) {
			out = append(out, extent{s.id, s.size, s.live + change[s.id]})
		}
	}
	return out
}

// account notes changes of live bytes.
func (l *valueLog) account(change map[uint32]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range change {
		if s := l.find(id); s != nil {
			s.live += n
		}
	}
}
