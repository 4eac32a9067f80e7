package tablewriter

import (
	"context"
	"errors"
	"sync"

	"sluice/internal/failpoint"
	"sluice/objstore"
)

const (
	unfinishedMax = 64 // files of a shard that are written but not durable yet
	finishersMax  = 16 // of these, how many are made durable at a time
)

// finisher makes the files of a commit durable together: a disk syncs many files
// in hardly more time than one.
type finisher struct{ files []objstore.Writer }

// lateFile is a file whose Finish is left to the finisher.
type lateFile struct {
	objstore.Writer
	f       *finisher
	written failpoint.Point
}

// Finish puts the file aside; the finisher's finish makes it durable.
func (l *lateFile) Finish(ctx context.Context) error {
	l.f.files = append(l.f.files, l.Writer)
	failpoint.Here(l.written)
	if len(l.f.files) >= unfinishedMax {
		return l.f.finish(ctx)
	}
	return nil
}

// finish makes all files durable that were put aside. After an error some of
// them may be.
func (f *finisher) finish(ctx context.Context) error {
	files := f.files
	f.files = f.files[:0]
	if len(files) == 1 {
		return files[0].Finish(ctx)
	}
	errs := make([]error, len(files))
	slots := make(chan struct{}, finishersMax)
	var wg sync.WaitGroup
	for i, w := range files {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = w.Finish(ctx)
			failpoint.Here(failpoint.FileDurable)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// abort drops the files that were put aside.
func (f *finisher) abort() error {
	var errs []error
	for _, w := range f.files {
		errs = append(errs, w.Abort())
	}
	f.files = nil
	return errors.Join(errs...)
}
