package runner

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sluice/interop/casefile"
	"sluice/objstore/faultstore"
	"sluice/tablewriter"
)

// before does what a step asks for before its commit: a crash, damage to the
// lookup index.
func (r *runner) before(ctx context.Context, i int, s casefile.Step) error {
	if s.Crash {
		if err := r.crash(ctx, i); err != nil {
			return err
		}
	}
	if s.Index == "" {
		return nil
	}
	if s.Index != casefile.IndexSave {
		if err := r.closeWriters(ctx); err != nil {
			return err
		}
	}
	return r.env.disturb(s.Index)
}

// noCommit lets no snapshot be made.
var noCommit = faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}}

// crash hands the rows of commit i to the writer that is open and gives it up
// without a commit: nothing of them may be seen.
func (r *runner) crash(ctx context.Context, i int) error {
	if r.w == nil {
		return nil
	}
	rows, err := r.rows(i)
	if err != nil {
		return err
	}
	if rows.N > 0 {
		if _, err := r.w.Write(ctx, rows, tablewriter.Position{}); err != nil {
			return err
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	r.faults.SetRules(noCommit) // or a writer that is fast enough would make one
	_ = r.w.Close(gone)         // says that rows were dropped
	r.w = nil
	r.faults.SetRules()
	return nil
}

// disturb does something to the files of the index.
func (e *Env) disturb(what string) error {
	dir, kept := filepath.Join(e.dir, "index"), filepath.Join(e.dir, "kept")
	if what == casefile.IndexSave {
		if err := os.RemoveAll(kept); err != nil {
			return err
		}
		return copyTree(dir, kept)
	}
	if err := e.cache.Close(); err != nil {
		return err
	}
	var err error
	switch what {
	case casefile.IndexOld:
		if err = os.RemoveAll(dir); err == nil {
			err = copyTree(kept, dir)
		}
	case casefile.IndexDelete:
		err = os.RemoveAll(dir)
	case casefile.IndexCut:
		err = eachFile(dir, func(b []byte) []byte { return b[:len(b)/2] })
	case casefile.IndexFlip:
		err = eachFile(dir, func(b []byte) []byte {
			if len(b) > 0 {
				b[len(b)/3] ^= 4
			}
			return b
		})
	default:
		err = fmt.Errorf("step index: %q is nothing that can be done to it", what)
	}
	if err != nil {
		return err
	}
	return e.open()
}

// copyTree copies a folder; it need not be there.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // deleted meanwhile, as any time
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
}

func eachFile(dir string, change func([]byte) []byte) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, change(data), 0o600)
	})
}
