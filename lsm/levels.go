package lsm

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"sluice/lsm/merge"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// File is a data file of a bucket. It is not changed.
type File struct {
	manifest.DataFile
	min, max []byte // its keys, in the form that orders as bytes
}

// MayHaveDeletes tells whether the file has records of kind -U or -D, or does not
// say.
func (f *File) MayHaveDeletes() bool { return f.DeleteRowCount == nil || *f.DeleteRowCount != 0 }

// Run is a sorted run: files of one level that do not overlap, in key order, or a
// write buffer that is about to be merged without becoming a file.
type Run struct {
	Level  int32
	Size   int64 // bytes
	Files  []*File
	Buffer *Buffer // instead of files; on level 0
}

// files returns the number of files; a buffer counts as one.
func (r *Run) files() int {
	if r.Buffer != nil {
		return 1
	}
	return len(r.Files)
}

// Buffer is a sorted run of level 0 that is in no file: what a write buffer holds,
// sorted and folded as a flush does it, on its way above level 0 directly.
type Buffer struct {
	Rows    int64
	Bytes   int64 // about what its file would have, for the picker
	Deletes bool  // it may have records of kind -U and -D
	// Min and Max are the least and the greatest key as [rowdata.AppendOrderedKey]
	// writes them.
	Min, Max []byte
	// Open returns the records in key order, one a key. It is called once for each
	// compaction that is run.
	Open func() (merge.Source, error)

	openWith func(block *rowdata.KeyValues) (merge.Source, error) // Open with memory for the block of sorted rows; may be nil
	release  func()
}

// open is Open with memory of earlier compactions.
func (b *Buffer) open(s *Scratch) (merge.Source, error) {
	if b.openWith == nil {
		return b.Open()
	}
	return b.openWith(s.takeSorted())
}

// Run returns the buffer as a run of level 0.
func (b *Buffer) Run() Run { return Run{Size: b.Bytes, Buffer: b} }

// OverlapError says that the files of a level above 0 overlap: they are no sorted
// run, and nothing that is read from them could be trusted.
type OverlapError struct {
	Level        int32
	First, Other string // names of files
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("level %d: the keys of files %s and %s overlap", e.Level, e.First, e.Other)
}

// UnknownFileError says that a file to be taken out of the levels is not there.
type UnknownFileError struct {
	Name  string
	Level int32
}

func (e *UnknownFileError) Error() string {
	return fmt.Sprintf("file %s is not on level %d", e.Name, e.Level)
}

// Levels are the live files of one bucket (semantics section 2.1). They belong to
// one goroutine; runs and files that were handed out stay as they are when the
// levels change, and may be used by others.
type Levels struct {
	key    []*rowdata.Type
	level0 []*File   // newest first
	upper  [][]*File // of levels 1 and up, in key order
}

// NewLevels returns the levels of a bucket that has the given files. key are the
// columns of the trimmed primary key, in key order. There are numLevels levels
// with level 0 (option num-levels), at least 2, or more if a file is on a higher
// one. The error is an [*OverlapError] or says that a key cannot be decoded.
func NewLevels(key *rowdata.RowType, numLevels int, files []manifest.DataFile) (*Levels, error) {
	l := &Levels{key: make([]*rowdata.Type, len(key.Fields)), upper: make([][]*File, max(numLevels, 2)-1)}
	for i := range key.Fields {
		l.key[i] = key.Fields[i].Type
	}
	if err := l.Update(nil, files); err != nil {
		return nil, err
	}
	return l, nil
}

// Top returns the highest level.
func (l *Levels) Top() int32 { return int32(len(l.upper)) }

// HighestNonEmpty returns the highest level that has files, or -1.
func (l *Levels) HighestNonEmpty() int32 {
	for i, files := range slices.Backward(l.upper) {
		if len(files) > 0 {
			return int32(i + 1)
		}
	}
	return int32(min(len(l.level0), 1)) - 1
}

// Level returns the files of a level: those of level 0 newest first, those of the
// others in key order. The caller does not change the slice.
func (l *Levels) Level(level int32) []*File {
	if level == 0 {
		return l.level0
	}
	return l.upper[level-1]
}

// Files returns all files.
func (l *Levels) Files() iter.Seq[*File] {
	return func(yield func(*File) bool) {
		for level := range l.Top() + 1 {
			for _, f := range l.Level(level) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// NumRuns returns the number of sorted runs: files of level 0 and levels above it
// that have any.
func (l *Levels) NumRuns() int {
	n := len(l.level0)
	for _, files := range l.upper {
		n += min(len(files), 1)
	}
	return n
}

// Runs returns the sorted runs in the order that they are picked in: the files of
// level 0, newest first, then the levels above.
func (l *Levels) Runs() []Run {
	runs := make([]Run, 0, l.NumRuns())
	for _, f := range l.level0 {
		runs = append(runs, Run{Size: f.FileSize, Files: []*File{f}})
	}
	for i, files := range l.upper {
		if len(files) == 0 {
			continue
		}
		r := Run{Level: int32(i + 1), Files: files}
		for _, f := range files {
			r.Size += f.FileSize
		}
		runs = append(runs, r)
	}
	return runs
}

// LastFull returns when the newest file of the highest level was made: about the
// time of the last full compaction; the zero time if there is none.
func (l *Levels) LastFull() time.Time {
	last := int64(-1)
	for _, f := range l.upper[len(l.upper)-1] {
		if f.HasCreationTime {
			last = max(last, f.CreationTime)
		}
	}
	if last < 0 {
		return time.Time{}
	}
	return time.UnixMilli(last)
}

// Update takes files out, named by name and level, and puts files in: what a
// compaction or a flush made of them. After an error nothing has changed; it is an
// [*UnknownFileError], an [*OverlapError], or says that a key cannot be decoded.
func (l *Levels) Update(before, after []manifest.DataFile) error {
	level0, upper := slices.Clone(l.level0), slices.Clone(l.upper)
	at := func(level int32) *[]*File {
		if level <= 0 {
			return &level0
		}
		for len(upper) < int(level) {
			upper = append(upper, nil)
		}
		return &upper[level-1]
	}
	changed := make(map[int32]bool)
	for i := range before {
		b := &before[i]
		files := at(b.Level)
		k := slices.IndexFunc(*files, func(f *File) bool { return f.FileName == b.FileName })
		if k < 0 {
			return &UnknownFileError{Name: b.FileName, Level: b.Level}
		}
		*files = slices.Concat((*files)[:k], (*files)[k+1:])
		changed[b.Level] = true
	}
	added := make(map[int32][]*File)
	for i := range after {
		f, err := l.newFile(&after[i])
		if err != nil {
			return err
		}
		added[f.Level] = append(added[f.Level], f)
	}
	for level, files := range added {
		to := at(level)
		*to = slices.Concat(*to, files)
		changed[level] = true
	}
	for level := range changed {
		if err := sortLevel(level, *at(level)); err != nil {
			return err
		}
	}
	l.level0, l.upper = level0, upper
	return nil
}

func (l *Levels) newFile(f *manifest.DataFile) (*File, error) {
	out := &File{DataFile: *f}
	row := make([]*rowdata.Vector, len(l.key))
	for _, b := range []struct {
		what string
		from []byte
		to   *[]byte
	}{{"least", f.MinKey, &out.min}, {"greatest", f.MaxKey, &out.max}} {
		for i, t := range l.key {
			row[i] = rowdata.NewVector(t, 1)
		}
		if err := rowdata.DecodeManifestRow(b.from, row); err != nil {
			return nil, fmt.Errorf("%s key of file %s: %w", b.what, f.FileName, err)
		}
		*b.to = rowdata.AppendOrderedKey(nil, row, 0)
	}
	return out, nil
}

// sortLevel brings the files of a level into their order.
func sortLevel(level int32, files []*File) error {
	if level <= 0 {
		slices.SortFunc(files, newestFirst)
		return nil
	}
	slices.SortFunc(files, func(a, b *File) int { return bytes.Compare(a.min, b.min) })
	for i := 1; i < len(files); i++ {
		if bytes.Compare(files[i-1].max, files[i].min) >= 0 {
			return &OverlapError{Level: level, First: files[i-1].FileName, Other: files[i].FileName}
		}
	}
	return nil
}

// newestFirst is the order of level 0.
func newestFirst(a, b *File) int {
	return cmp.Or(
		cmp.Compare(b.MaxSeq, a.MaxSeq), cmp.Compare(a.MinSeq, b.MinSeq),
		cmp.Compare(a.CreationTime, b.CreationTime), cmp.Compare(a.FileName, b.FileName),
	)
}
