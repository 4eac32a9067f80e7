package commit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// MaxSequenceProperty is the snapshot property that holds the largest sequence
// number of the table (format section 3.3).
const MaxSequenceProperty = "sequence.generation.max-sequence-number"

// delta is the files that say what a commit changes. They do not depend on the
// base, so that all tries can share them, unless its entries do.
type delta struct {
	entries        []manifest.Entry
	metas          []manifest.Meta
	list           file
	changelogList  *file
	changelogRows  int64
	files          []file // all of them
	written        bool
	rows           int64 // of ADD entries less those of DELETE entries
	maxSequence    int64 // of ADD entries
	hasMaxSequence bool
	nextRowID      int64
}

// plan is one try: a snapshot that could follow the head, and its files.
type plan struct {
	snapshot *paimon.Snapshot
	content  []byte
	delta    *delta
	own      []file // files of this try alone
	metas    []manifest.Meta
	index    []manifest.IndexEntry
	merged   *merged
}

// part is a part of a request on its way to a snapshot.
type part struct {
	req     *Request
	changes *changes
	shared  *delta               // made once, if the changes do not depend on the base
	tries   int                  // that have not won
	unknown *UnknownOutcomeError // of a try that may have succeeded
}

// plan makes the next try. It reads what it must and writes nothing. merge: whether
// manifests may be merged, which reads them.
func (c *Committer) plan(ctx context.Context, p *part, merge bool) (*plan, error) {
	h, s := c.head, c.set
	id := h.id() + 1
	entries, deletedIndex := p.changes.entries, p.changes.deletedIndex
	if t := p.changes.overwrite; t != nil {
		removed, removedIndex, err := c.replace(ctx, h, t, s)
		if err != nil {
			return nil, err
		}
		entries = append(removed, entries...)
		deletedIndex = append(removedIndex, deletedIndex...)
	}
	out := &plan{}
	var err error
	if out.index, err = c.newIndex(ctx, deletedIndex, p.changes.newIndex); err != nil {
		return nil, err
	}
	if needsCheck(p.changes.kind, p.req, s) || h.snapshot == nil {
		touched := append(slices.Clip(deletedIndex), p.changes.newIndex...)
		if err := c.check(ctx, p.changes.kind, p.req.User, entries, touched, out.index); err != nil {
			return nil, err
		}
	}
	out.merged = &merged{metas: h.metas}
	if merge {
		if out.merged, err = c.mergeBase(ctx, h.metas, s); err != nil {
			return nil, err
		}
	}
	if out.delta, err = c.deltaOf(p, entries, id, s); err != nil {
		return nil, err
	}
	out.own = append(out.own, out.merged.files...)
	base, err := c.listFile(out.merged.metas, s)
	if err != nil {
		return nil, err
	}
	out.own = append(out.own, base)
	out.metas = append(slices.Clip(out.merged.metas), out.delta.metas...)
	if out.snapshot, err = c.snapshot(ctx, p, out, base); err != nil {
		return nil, err
	}
	if len(deletedIndex)+len(p.changes.newIndex) > 0 {
		out.snapshot.IndexManifest = nil
		if len(out.index) > 0 {
			data, err := manifest.EncodeIndex(out.index, s.encoding)
			if err != nil {
				return nil, err
			}
			f := c.newFile("index-manifest", data)
			out.own = append(out.own, f)
			out.snapshot.IndexManifest = &f.name
		}
	}
	out.content, err = out.snapshot.Marshal()
	return out, err
}

// newIndex returns the index files after the changes.
func (c *Committer) newIndex(ctx context.Context, deleted, added []manifest.IndexEntry) ([]manifest.IndexEntry, error) {
	if len(deleted)+len(added) == 0 && !(c.set.vectors && len(c.set.key) == 0) {
		return nil, nil // not looked at
	}
	old, err := c.indexEntries(ctx)
	if err != nil {
		return nil, err
	}
	return combineIndex(old, deleted, added, c.set.unaware, func(e *manifest.IndexEntry, detail string) error {
		return &ConflictError{Kind: ConflictIndex, Snapshot: c.head.id(), Partition: c.table.PartitionText(e.Partition), Bucket: e.Bucket, File: e.FileName, Detail: detail}
	})
}

// deltaOf returns the files of the changes, made anew only if they must be.
func (c *Committer) deltaOf(p *part, entries []manifest.Entry, id int64, s *settings) (*delta, error) {
	if p.shared != nil {
		p.shared.nextRowID = c.nextRowID()
		return p.shared, nil
	}
	d := &delta{}
	d.entries, d.nextRowID = stamp(entries, p.changes.kind, id, c.nextRowID(), s)
	if s.dropStats {
		d.entries = dropStats(d.entries)
	}
	for i := range d.entries {
		f := &d.entries[i].File
		if d.entries[i].Kind == manifest.Delete {
			d.rows -= f.RowCount
			continue
		}
		d.rows += f.RowCount
		if !d.hasMaxSequence || f.MaxSeq > d.maxSequence {
			d.maxSequence, d.hasMaxSequence = f.MaxSeq, true
		}
	}
	var err error
	if d.metas, d.list, err = c.encode(d, d.entries, s); err != nil {
		return nil, err
	}
	if len(p.changes.changelog) > 0 {
		_, list, err := c.encode(d, p.changes.changelog, s)
		if err != nil {
			return nil, err
		}
		d.changelogList = &list
		for i := range p.changes.changelog {
			d.changelogRows += p.changes.changelog[i].File.RowCount
		}
	}
	if !p.changes.dependsOnBase(s) {
		p.shared = d
	}
	return d, nil
}

// encode adds manifests of the entries, and a list that names them, to the files
// of a delta.
func (c *Committer) encode(d *delta, entries []manifest.Entry, s *settings) ([]manifest.Meta, file, error) {
	w := c.newRoll(s)
	for i := range entries {
		if err := w.add(&entries[i]); err != nil {
			return nil, file{}, err
		}
	}
	metas, files, err := w.finish()
	if err != nil {
		return nil, file{}, err
	}
	list, err := c.listFile(metas, s)
	d.files = append(append(d.files, files...), list)
	return metas, list, err
}

func (c *Committer) listFile(metas []manifest.Meta, s *settings) (file, error) {
	data, err := manifest.EncodeList(metas, s.encoding)
	if err != nil {
		return file{}, err
	}
	return c.newFile("manifest-list", data), nil
}

func (c *Committer) nextRowID() int64 {
	if s := c.head.snapshot; s != nil && s.NextRowID != nil {
		return *s.NextRowID
	}
	return 0
}

// snapshot returns the snapshot of a plan, but for its index manifest.
func (c *Committer) snapshot(ctx context.Context, p *part, out *plan, base file) (*paimon.Snapshot, error) {
	before := c.head.snapshot
	d := out.delta
	id := uuid.NewString()
	baseSize, deltaSize := int64(len(base.data)), int64(len(d.list.data))
	s := &paimon.Snapshot{
		Version: paimon.SnapshotVersion, UUID: &id, ID: c.head.id() + 1, SchemaID: c.set.schema.ID,
		BaseManifestList: base.name, BaseManifestListSize: &baseSize,
		DeltaManifestList: d.list.name, DeltaManifestListSize: &deltaSize,
		CommitUser: p.req.User, CommitIdentifier: p.req.Identifier, CommitKind: p.changes.kind,
		TimeMillis: c.o.Now().UnixMilli(), DeltaRecordCount: &d.rows, Watermark: p.req.Watermark, NextRowID: &d.nextRowID,
	}
	if list := d.changelogList; list != nil {
		size := int64(len(list.data))
		s.ChangelogManifestList, s.ChangelogManifestListSize, s.ChangelogRecordCount = &list.name, &size, &d.changelogRows
	}
	if p.req.Operation != "" {
		s.Operation = &p.req.Operation
	}
	total, err := c.totalRows(ctx)
	if err != nil {
		return nil, err
	}
	total += d.rows
	s.TotalRecordCount = &total
	if before != nil {
		// Time travel searches by time, so it never goes back.
		s.TimeMillis = max(s.TimeMillis, before.TimeMillis)
		s.IndexManifest = before.IndexManifest
		if w, ok := before.EventTime(); ok && (s.Watermark == nil || *s.Watermark < w) {
			s.Watermark = &w
		}
		if s.Statistics, err = c.statistics(ctx, before); err != nil {
			return nil, err
		}
	}
	s.Properties, err = c.properties(ctx, p, d)
	return s, err
}

// totalRows returns the number of physical rows of the head.
func (c *Committer) totalRows(ctx context.Context) (int64, error) {
	before := c.head.snapshot
	if before == nil {
		return 0, nil
	}
	if before.TotalRecordCount != nil {
		return *before.TotalRecordCount, nil
	}
	live, err := c.table.LiveEntries(ctx, before, paimon.Filter{})
	total := int64(0)
	for i := range live {
		total += live[i].File.RowCount
	}
	return total, err
}

// properties returns those of the request, and the largest sequence number if
// the table wants it.
func (c *Committer) properties(ctx context.Context, p *part, d *delta) (map[string]string, error) {
	if !c.set.keepMaxSequence {
		return p.req.Properties, nil
	}
	largest, known := d.maxSequence, d.hasMaxSequence
	if before := c.head.snapshot; before != nil {
		text, ok := before.Properties[MaxSequenceProperty]
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			live, err := c.table.LiveEntries(ctx, before, paimon.Filter{})
			if err != nil {
				return nil, err
			}
			for i := range live {
				if !known || live[i].File.MaxSeq > largest {
					largest, known = live[i].File.MaxSeq, true
				}
			}
		} else if !known || n > largest {
			largest, known = n, true
		}
	}
	properties := maps.Clone(p.req.Properties)
	if properties == nil {
		properties = map[string]string{}
	}
	if known {
		properties[MaxSequenceProperty] = strconv.FormatInt(largest, 10)
	}
	return properties, nil
}

// statsSchema remembers the schema of a statistics file.
type statsSchema struct {
	name   string
	schema int64
}

// statistics returns the statistics that the next snapshot inherits: none if
// they were made for another schema.
func (c *Committer) statistics(ctx context.Context, before *paimon.Snapshot) (*string, error) {
	if before.Statistics == nil || *before.Statistics == "" {
		return nil, nil
	}
	if c.stat.name != *before.Statistics {
		st, err := c.table.Statistics(ctx, before)
		if err != nil {
			return nil, fmt.Errorf("statistics to inherit: %w", err)
		}
		c.stat = statsSchema{*before.Statistics, st.SchemaID}
	}
	if c.stat.schema != c.set.schema.ID {
		return nil, nil
	}
	return before.Statistics, nil
}
