package runner

import (
	"context"
	"errors"

	"sluice/tablewriter"
)

// turnTo makes one of several writers that of the next commit. The others stay
// open.
func (r *runner) turnTo(writer int) {
	if writer == r.writer {
		return
	}
	if r.others == nil {
		r.others = map[int]*tablewriter.Writer{}
	}
	r.others[r.writer] = r.w
	r.writer, r.w = writer, r.others[writer]
	delete(r.others, writer)
}

// closeWriter closes the writer of the commit.
func (r *runner) closeWriter(ctx context.Context) error {
	if r.w == nil {
		return nil
	}
	err := r.w.Close(ctx)
	r.w = nil
	return err
}

// closeWriters closes all.
func (r *runner) closeWriters(ctx context.Context) error {
	err := r.closeWriter(ctx)
	for i, w := range r.others {
		if w != nil {
			err = errors.Join(err, w.Close(ctx))
		}
		delete(r.others, i)
	}
	return err
}
