package lsm

import (
	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

// CompactionOptions say how what was picked is cut into steps.
type CompactionOptions struct {
	// SmallBytes is the size below which a file is merged with its neighbours
	// rather than left alone: target-file-size x compaction.small-file-ratio.
	SmallBytes int64
	// ForceRewrite writes every file again: compaction.force-rewrite-all-files.
	ForceRewrite bool
	// Expired tells which files hold records that are too old to be kept
	// (record-level.expire-time); nil: none.
	Expired func(*File) bool
	// DeletionVectors says that the table has them: deletes are dropped always.
	DeletionVectors bool
	// Format returns the format of new files of a level, such as
	// [datafile.FormatParquet]; nil: all levels have one format.
	Format func(level int32) string
}

// Compaction is a decided compaction of a bucket: what is merged with what, and
// what only changes its level. It is not changed; [Compaction.Run] does it.
type Compaction struct {
	Plan   merge.Plan
	Reason Reason
	Steps  []Step // in key order
}

// Step is a part of a compaction whose result does not overlap with that of the
// others. Exactly one of Sections and File is set.
type Step struct {
	// Sections are merged each by itself, and written one after the other.
	Sections []Section
	// DropDelete is that of the plan, or false for a file that is written again
	// instead of changing its level.
	DropDelete bool
	// File goes to the output level as it stands and, with Report, is read for
	// changelog and index.
	File   *File
	Report bool
}

// Section is sorted runs whose key range overlaps with no other section.
type Section []SortedRun

// SortedRun is files that do not overlap, in key order, whatever their levels, or
// a buffer.
type SortedRun struct {
	Files  []*File
	Buffer *Buffer
}

// Upgrader decides about files that could change their level as they stand. It is
// the part of a changelog producer that planning needs.
type Upgrader interface {
	Upgrade(u merge.Upgrade) merge.UpgradeAction
}

// NewCompaction decides how a pick is compacted (semantics sections 2.5 to 2.7).
// runs are all runs of the bucket that the pick was made from.
func NewCompaction(runs []Run, top int32, p Pick, up Upgrader, o CompactionOptions) *Compaction {
	highest := runs[len(runs)-1].Level
	b := planner{
		up: up, opts: o, c: &Compaction{Reason: p.Reason, Plan: merge.Plan{
			Output: p.Output, Top: top, Bottom: highest, Above: highest > p.Output, DropDelete: p.Output >= highest || o.DeletionVectors,
		}},
	}
	if len(p.Rewrite) > 0 {
		for _, f := range p.Rewrite {
			b.rewriteFile(f, b.c.Plan.DropDelete)
		}
		return b.c
	}
	for _, s := range cut(runs[:p.Runs]) {
		b.add(s)
	}
	b.flush()
	return b.c
}

// cut partitions the runs into sections. Positions refer to their files and
// buffers one after the other.
func cut(runs []Run) []Section {
	var parts []SortedRun // of one file, or a buffer
	mins, maxs := rowdata.NewBatch(boundType, 0), rowdata.NewBatch(boundType, 0)
	bound := func(least, greatest []byte) {
		mins.Cols[0].AppendBytes(least)
		maxs.Cols[0].AppendBytes(greatest)
		mins.CloseRow()
		maxs.CloseRow()
	}
	for i := range runs {
		if b := runs[i].Buffer; b != nil {
			parts = append(parts, SortedRun{Buffer: b})
			bound(b.Min, b.Max)
		}
		for k, f := range runs[i].Files {
			parts = append(parts, SortedRun{Files: runs[i].Files[k : k+1]})
			bound(f.min, f.max)
		}
	}
	found := merge.Sections(mins, maxs, rowdata.NewComparer([]int{0}))
	sections := make([]Section, len(found))
	for i, s := range found {
		for _, run := range s.Runs {
			sections[i] = append(sections[i], joinRun(parts, run)...)
		}
	}
	return sections
}

var boundType = &rowdata.RowType{Fields: []rowdata.Field{{Name: "key", Type: &rowdata.Type{Root: rowdata.Varbinary, Length: rowdata.MaxLength}}}}

// joinRun makes a run of parts that do not overlap. A buffer stays a run of its
// own, since it cannot be opened as a file.
func joinRun(parts []SortedRun, run []int) []SortedRun {
	var joined SortedRun
	var out []SortedRun
	for _, i := range run {
		if parts[i].Buffer != nil {
			out = append(out, parts[i])
			continue
		}
		joined.Files = append(joined.Files, parts[i].Files...)
	}
	if len(joined.Files) > 0 {
		out = append(out, joined)
	}
	return out
}

// planner collects sections that are rewritten together.
type planner struct {
	up    Upgrader
	opts  CompactionOptions
	c     *Compaction
	group []Section
}

// add deals with the next section: what overlaps is merged, small files are
// merged with their neighbours, and large ones stay as they are if they can.
func (b *planner) add(s Section) {
	if len(s) > 1 {
		b.group = append(b.group, s)
		return
	}
	if buffer := s[0].Buffer; buffer != nil {
		b.keepApart(buffer.Bytes, s, func() { b.rewrite([]Section{s}, b.c.Plan.DropDelete) })
		return
	}
	for i, f := range s[0].Files {
		alone := Section{{Files: s[0].Files[i : i+1]}}
		b.keepApart(f.FileSize, alone, func() { b.upgrade(f) })
	}
}

// keepApart adds a small section to the group. A large one ends the group and is
// dealt with on its own.
func (b *planner) keepApart(bytes int64, s Section, apart func()) {
	if bytes < b.opts.SmallBytes {
		b.group = append(b.group, s)
		return
	}
	b.flush()
	apart()
}

// flush ends the group. A single run in it is not rewritten although it is small.
func (b *planner) flush() {
	group := b.group
	b.group = nil
	if len(group) == 0 {
		return
	}
	if len(group) == 1 && len(group[0]) == 1 && group[0][0].Buffer == nil {
		for _, f := range group[0][0].Files {
			b.upgrade(f)
		}
		return
	}
	b.rewrite(group, b.c.Plan.DropDelete)
}

// upgrade lets a file go to the output level, rewritten only if it must.
func (b *planner) upgrade(f *File) {
	p, deletes := b.c.Plan, f.MayHaveDeletes()
	if p.Output == p.Top && deletes || b.opts.ForceRewrite || b.opts.Expired != nil && b.opts.Expired(f) {
		b.rewriteFile(f, p.DropDelete)
		return
	}
	if f.Level == p.Output {
		return
	}
	switch b.up.Upgrade(merge.Upgrade{Plan: p, From: f.Level, Deletes: deletes, OtherFormat: b.otherFormat(f)}) {
	case merge.Rewrite:
		b.rewriteFile(f, b.opts.DeletionVectors)
	case merge.MoveAndReport:
		b.c.Steps = append(b.c.Steps, Step{File: f, Report: true})
	default:
		b.c.Steps = append(b.c.Steps, Step{File: f})
	}
}

func (b *planner) otherFormat(f *File) bool {
	return b.opts.Format != nil && datafile.FormatOf(f.FileName) != b.opts.Format(b.c.Plan.Output)
}

func (b *planner) rewriteFile(f *File, dropDelete bool) {
	b.rewrite([]Section{{{Files: []*File{f}}}}, dropDelete)
}

func (b *planner) rewrite(sections []Section, dropDelete bool) {
	b.c.Steps = append(b.c.Steps, Step{Sections: sections, DropDelete: dropDelete})
}

// Inputs calls fn for each file that the compaction consumes or moves.
func (c *Compaction) Inputs(fn func(*File)) {
	for _, s := range c.Steps {
		if s.File != nil {
			fn(s.File)
		}
		for _, section := range s.Sections {
			for _, run := range section {
				for _, f := range run.Files {
					fn(f)
				}
			}
		}
	}
}

// IsEmpty tells whether there is nothing to do.
func (c *Compaction) IsEmpty() bool { return len(c.Steps) == 0 }
