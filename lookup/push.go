package lookup

import (
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/internal/failpoint"
)

// A push writes all pages if it has a change for about every third, else only those
// that change.
const pagesPerChange = 3

// The log is cleaned when what no page refers to takes more than a half of what one
// does, and more than logLimits.garbageMin: then segments of which less than
// victimPercent is in use are copied.
const victimPercent = 70

// iterator returns an iterator over the pages, which stays open until the next
// push; nil if there are none.
func (x *Index) iterator() (*pebble.Iterator, error) {
	if x.onDisk == nil {
		return nil, nil
	}
	if x.pages == nil {
		it, err := x.store.db.NewIter(nil)
		if err != nil {
			return nil, err
		}
		x.pages = it
	}
	return x.pages, nil
}

func (x *Index) closeIterator() {
	if x.pages != nil {
		_ = x.pages.Close()
		x.pages = nil
	}
}

// push brings the committed changes in memory into pages, with their state.
func (x *Index) push(ctx context.Context) error {
	if len(x.runs) == 0 {
		return nil
	}
	if err := x.ready(ctx); err != nil {
		return err
	}
	return x.pushAll(ctx)
}

// pushAll is push with an open database, even if nothing has changed.
func (x *Index) pushAll(ctx context.Context) error {
	if err := x.writePages(ctx, *x.state.Load(), x.ordinal, cursorsOf(x.runs), changesIn(x.runs)); err != nil {
		return x.failed(ctx, err)
	}
	x.setRuns(nil)
	return nil
}

// writePages brings about n changes into pages, older cursors first, and with them
// the state and the ordinal of the commit that they lead to.
func (x *Index) writePages(ctx context.Context, st State, ordinal uint64, changes []*cursor, n int64) error {
	m, err := newMerger(changes)
	if err != nil {
		return err
	}
	victims := x.victims()
	all := x.meta.pages == 0 || len(victims) > 0 || n*pagesPerChange >= int64(x.meta.pages)
	return x.replacePages(ctx, st, ordinal, victims, all, func(p *pager) error {
		it, err := x.store.db.NewIter(nil)
		if err != nil {
			return err
		}
		if all {
			err = p.all(ctx, it, m)
		} else {
			err = p.some(ctx, it, m)
		}
		if e := it.Close(); err == nil {
			err = e
		}
		return err
	})
}

// replacePages makes the pages that fill writes a part of the database, or all that
// is in it, together with what it says about itself: all or nothing.
func (x *Index) replacePages(ctx context.Context, st State, ordinal uint64, victims map[uint32]bool, all bool, fill func(*pager) error) error {
	w := &tableWriter{s: x.store, name: x.tableName}
	defer w.remove()
	p := newPager(x.log, w, victims)
	x.setResident(nil) // what is held is held once
	x.tooLarge = false
	if all {
		p.copy, p.copyMax = newResident(true), x.residentRoom()
	}
	err := x.cutForPages(all)
	if err == nil {
		err = fill(p)
	}
	if err == nil {
		err = p.flush()
	}
	if err == nil {
		err = x.cutForPages(all)
	}
	if err != nil {
		return err
	}
	p.account()
	// No page may refer to what the log could lose.
	if err := x.log.sync(); err != nil {
		return err
	}
	m := meta{
		state: st, ordinal: ordinal, from: x.log.oldest(),
		pages: x.meta.pages + uint64(p.pages), keys: x.meta.keys + uint64(p.keys),
	}
	gone := x.useless(victims, p.change, uint32(m.from>>32))
	m.extents = x.log.extents(p.change, gone)
	if err := w.add(metaKey, m.append(nil, x.generation), false); err != nil {
		return err
	}
	if err := w.finish(); err != nil {
		return err
	}
	x.closeIterator()
	failpoint.Here(failpoint.LookupPagesWritten)
	if err := x.store.ingest(ctx, w.paths, all); err != nil {
		return err
	}
	failpoint.Here(failpoint.LookupPagesIngested)
	w.paths = nil
	x.log.account(p.change)
	x.log.drop(gone)
	x.written(m)
	if x.tooLarge = all && p.copy == nil; p.copy != nil {
		x.setResident(p.copy)
	}
	return nil
}

// cutForPages keeps the pages of an index with many of them apart from values: when
// all are written anew, the old ones leave segments that hold nothing else, and
// nothing has to be copied out of these.
func (x *Index) cutForPages(all bool) error {
	if !all || int64(x.meta.pages) < x.cache.opts.log.pagesApart {
		return nil
	}
	return x.log.cut()
}

// written notes what the database reflects now.
func (x *Index) written(m meta) {
	x.meta, x.onDisk = m, &m.state
	size := x.log.bytes()
	x.pushed = size
	x.diskBytes.Store(int64(x.store.db.Metrics().DiskSpaceUsage()) + size)
	x.liveKeys.Store(int64(m.keys))
}

// victims returns the segments that a push is to copy the values out of.
func (x *Index) victims() map[uint32]bool {
	_, live := x.log.sizes()
	// What came since the last push lives, but is in no page yet.
	garbage := x.pushed - live
	if garbage < x.cache.opts.log.garbageMin || garbage*2 < live {
		return nil
	}
	end := uint32(x.log.oldest() >> 32)
	v := map[uint32]bool{}
	for _, e := range x.log.extents(nil, nil) {
		if e.id < end && e.live > 0 && e.live*100 < e.size*victimPercent {
			v[e.id] = true
		}
	}
	return v
}

// useless returns the segments that no page refers to after a push, of those that
// no commit to come needs.
func (x *Index) useless(victims map[uint32]bool, change map[uint32]int64, end uint32) []uint32 {
	var gone []uint32
	for _, e := range x.log.extents(change, nil) {
		if e.id < end && (e.live == 0 || victims[e.id]) {
			gone = append(gone, e.id)
		}
	}
	return slices.Clip(gone)
}
