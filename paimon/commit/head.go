package commit

import (
	"context"
	"errors"
	"fmt"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// catchUpMax is how many snapshots of others are read one by one before the head
// is read anew.
const catchUpMax = 200

// head is the newest snapshot that the committer knows, and what it consists of.
type head struct {
	snapshot *paimon.Snapshot // nil: the table has none
	info     objstore.Info    // of its file: tells if it was replaced
	metas    []manifest.Meta  // base and delta: the base of the next snapshot
	live     *liveFiles       // of partitions that were checked
	index    []manifest.IndexEntry
	hasIndex bool // index is read
}

func (h *head) id() int64 {
	if h.snapshot == nil {
		return 0
	}
	return h.snapshot.ID
}

// refresh makes head the newest snapshot of the table, and the schema the
// newest. If nobody else has committed it reads nothing.
func (c *Committer) refresh(ctx context.Context) error {
	if err := c.refreshSchema(ctx); err != nil {
		return err
	}
	if c.head == nil || c.head.snapshot == nil {
		return c.readHead(ctx)
	}
	same, err := c.sameHead(ctx)
	if err != nil {
		return err
	}
	if !same { // rolled back, or expired while we slept
		return c.readHead(ctx)
	}
	return c.catchUp(ctx)
}

// sameHead tells whether the file of the head is still the one that was read or
// written.
func (c *Committer) sameHead(ctx context.Context) (bool, error) {
	info, err := c.table.Store.Stat(ctx, c.table.SnapshotPath(c.head.id()))
	if errors.Is(err, objstore.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Size == c.head.info.Size && info.ModTime.Equal(c.head.info.ModTime), err
}

// readHead forgets everything and finds the newest snapshot.
func (c *Committer) readHead(ctx context.Context) error {
	c.head, c.past = nil, history{}
	identity, err := c.table.CurrentIdentity(ctx)
	if err != nil {
		return err
	}
	if identity != c.table.Identity() {
		return ErrTableReplaced
	}
	s, err := c.table.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		c.head = &head{}
		return nil
	}
	if err != nil {
		return err
	}
	h := &head{snapshot: s}
	if h.info, err = c.table.Store.Stat(ctx, c.table.SnapshotPath(s.ID)); err != nil {
		return fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	if h.metas, err = c.metasOf(ctx, s); err != nil {
		return err
	}
	c.head = h
	return nil
}

func (c *Committer) metasOf(ctx context.Context, s *paimon.Snapshot) ([]manifest.Meta, error) {
	var metas []manifest.Meta
	for _, list := range []string{s.BaseManifestList, s.DeltaManifestList} {
		m, err := c.table.ManifestList(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("snapshot %d: %w", s.ID, err)
		}
		metas = append(metas, m...)
	}
	return metas, nil
}

// catchUp reads the snapshots that others made since the head.
func (c *Committer) catchUp(ctx context.Context) error {
	var created []*paimon.Snapshot
	for id := c.head.id() + 1; ; id++ {
		if ok, err := c.table.SnapshotExists(ctx, id); err != nil {
			return err
		} else if !ok {
			break
		}
		if len(created) == catchUpMax {
			return c.readHead(ctx)
		}
		s, err := c.table.Snapshot(ctx, id)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			return c.readHead(ctx)
		}
		if err != nil {
			return err
		}
		created = append(created, s)
	}
	if len(created) == 0 {
		return nil
	}
	last := created[len(created)-1]
	h := &head{snapshot: last}
	var err error
	if h.info, err = c.table.Store.Stat(ctx, c.table.SnapshotPath(last.ID)); err != nil {
		return fmt.Errorf("snapshot %d: %w", last.ID, err)
	}
	if h.metas, err = c.metasOf(ctx, last); err != nil {
		return err
	}
	if h.live, err = c.liveAfter(ctx, created); err != nil {
		return err
	}
	for _, s := range created {
		c.past.add(s)
	}
	c.head = h
	return nil
}

// liveAfter takes the live files of the head on to the newest of the snapshots
// that follow it; nil if they must be read anew.
func (c *Committer) liveAfter(ctx context.Context, created []*paimon.Snapshot) (*liveFiles, error) {
	live := c.head.live
	if live == nil {
		return nil, nil
	}
	c.head.live = nil // half changed if this fails
	for _, s := range created {
		// An overwrite may be a rollback, which writes the base anew.
		if s.CommitKind == paimon.CommitOverwrite {
			return nil, nil
		}
		delta, err := c.table.DeltaEntries(ctx, s)
		if err != nil {
			return nil, err
		}
		live.apply(delta)
	}
	return live, nil
}

// refreshSchema makes the settings those of the newest schema.
func (c *Committer) refreshSchema(ctx context.Context) error {
	known := c.table.Schema()
	ok, err := objstore.Exists(ctx, c.table.Store, c.table.SchemaPath(known.ID+1))
	if err != nil {
		return err
	}
	if ok {
		if known, err = c.table.ReloadSchema(ctx); err != nil {
			return err
		}
	}
	if c.set == nil || c.set.schema != known {
		c.set, err = readSettings(known)
	}
	return err
}

// indexEntries returns the index files of the head.
func (c *Committer) indexEntries(ctx context.Context) ([]manifest.IndexEntry, error) {
	h := c.head
	if h.snapshot == nil || h.hasIndex {
		return h.index, nil
	}
	index, err := c.table.IndexEntries(ctx, h.snapshot)
	if err == nil {
		h.index, h.hasIndex = index, true
	}
	return index, err
}
