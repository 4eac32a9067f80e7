package lookup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// replayBytesMax bounds what is held of stages without a commit while the log is
// read; a stage beyond it is not restored.
const replayBytesMax = 128 << 20

// openLog opens the log of the present generation, as far as the database knows of
// it, and restores the commits that are behind that.
func (x *Index) openLog(ctx context.Context, m meta) error {
	x.log = x.newLog()
	x.ordinal, x.pushed = m.ordinal, 0
	disk := x.cache.opts.fs
	names, err := disk.List(x.logDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found := map[uint32]int64{}
	for _, name := range names {
		id, ok := parseSegment(name)
		if !ok {
			continue
		}
		info, err := disk.Stat(x.log.path(id))
		if err != nil {
			return err
		}
		found[id] = info.Size()
	}
	known := map[uint32]bool{}
	for _, e := range m.extents {
		if size, ok := found[e.id]; !ok || size < e.size {
			return fmt.Errorf("%w: segment %d is shorter than it was", errRecord, e.id)
		}
		known[e.id] = true
		x.pushed += e.size
		x.log.segments = append(x.log.segments, &segment{id: e.id, size: found[e.id], live: e.live, synced: true})
	}
	for id, size := range found {
		x.log.next = max(x.log.next, id+1)
		if known[id] {
			continue
		}
		if id < uint32(m.from>>32) {
			_ = disk.Remove(x.log.path(id))
			continue
		}
		x.log.segments = append(x.log.segments, &segment{id: id, size: size})
	}
	slices.SortFunc(x.log.segments, func(a, b *segment) int { return int(int64(a.id) - int64(b.id)) })
	return x.replay(ctx, m.from)
}

// replayed is a stage whose commit has not been met yet.
type replayed struct {
	changes collector
	frames  uint64
	bytes   int64
}

// lostFrames is more than the commit of any stage says.
const lostFrames = 1 << 62

// replay reads the log from an address on. It ends where a commit is missing: what
// the index reflects then is an earlier state, which is as good as any.
func (x *Index) replay(ctx context.Context, from uint64) error {
	stages := map[uint64]*replayed{}
	clean := true
	for _, s := range x.log.segments {
		if s.id < uint32(from>>32) {
			continue
		}
		at := int64(0)
		if s.id == uint32(from>>32) {
			at = int64(uint32(from))
		}
		end, goOn, err := x.replaySegment(ctx, s, at, stages)
		if err != nil {
			return err
		}
		clean = clean && end == s.size && goOn
		if !goOn {
			break
		}
	}
	for id, r := range stages {
		clean = clean && r.frames == 0
		delete(stages, id)
	}
	if clean || x.state.Load() == nil {
		return nil
	}
	// What is of no use any more is never to be read again.
	return x.pushAll(ctx)
}

// replaySegment reads the frames of a segment up to the first that is none, whose
// place it returns.
func (x *Index) replaySegment(ctx context.Context, s *segment, at int64, stages map[uint64]*replayed) (end int64, goOn bool, err error) {
	r, err := x.log.reader(s.id)
	if err != nil {
		return 0, false, err
	}
	var head [frameHeader]byte
	var payload []byte
	for at+frameHeader <= s.size {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		if err := readAt(r, head[:], at); err != nil {
			return 0, false, err
		}
		h, ok := decodeHeader(head[:], x.generation)
		if !ok || at+frameHeader+int64(h.size) > s.size {
			return at, true, nil
		}
		if h.kind == frameRecords && h.stage == noStage {
			at += frameHeader + int64(h.size)
			continue
		}
		if payload, err = readPayload(r, payload, at+frameHeader, int(h.size)); err != nil {
			return 0, false, err
		}
		if h.kind == frameCommit {
			ok, goOn = x.replayCommit(payload, h.stage, stages)
		} else {
			ok, goOn = x.replayRecords(payload, h.stage, address(s.id, uint32(at)+frameHeader), stages), true
		}
		if !ok || !goOn {
			return at, goOn, nil
		}
		at += frameHeader + int64(h.size)
	}
	return at, true, nil
}

func readPayload(r vfs.File, buf []byte, at int64, n int) ([]byte, error) {
	buf = slices.Grow(buf[:0], n)[:n]
	return buf, readAt(r, buf, at)
}

// replayRecords takes the changes of a frame.
func (x *Index) replayRecords(payload []byte, stage, base uint64, stages map[uint64]*replayed) bool {
	r := stages[stage]
	if r == nil {
		r = &replayed{changes: collector{mergeBytes: x.cache.opts.StageBytes}}
		stages[stage] = r
	}
	if r.frames >= lostFrames {
		return true
	}
	r.frames++
	r.bytes += int64(len(payload))
	held := int64(0)
	for _, o := range stages {
		held += o.bytes
	}
	if held > replayBytesMax {
		*r = replayed{frames: lostFrames}
		return true
	}
	var place [locBytes]byte
	for at := 0; at < len(payload); {
		rec, next, ok := nextRecord(payload, at)
		if !ok {
			return false
		}
		flag, val := uint32(deleted), []byte(nil)
		if !rec.del {
			flag = 0
			if len(rec.value) > 0 {
				val = loc{base + uint64(rec.at), uint32(len(rec.value))}.append(place[:0])
			}
		}
		r.changes.add(rec.key, val, flag)
		at = next
	}
	return true
}

// replayCommit makes the changes of a stage count. It is not ok if the frame is
// not what was written, and there is no going on behind a gap.
func (x *Index) replayCommit(payload []byte, stage uint64, stages map[uint64]*replayed) (ok, goOn bool) {
	c, ok := decodeCommit(payload, x.generation)
	if !ok {
		return false, true
	}
	r := stages[stage]
	delete(stages, stage)
	if c.ordinal <= x.ordinal {
		return true, true
	}
	frames := uint64(0)
	if r != nil {
		frames = r.frames
	}
	if c.ordinal != x.ordinal+1 || c.frames != frames {
		return true, false
	}
	x.ordinal = c.ordinal
	var changes *run
	if r != nil {
		changes = r.changes.merged()
	}
	x.addRun(changes, c.state)
	return true, true
}
