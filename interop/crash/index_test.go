package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// indexes are the folder of a table's lookup indexes, of which this test knows
// that each index has a folder there, and nothing else.
type indexes struct {
	t      *testing.T
	r      *rand.Rand
	dir    string
	copies string // an earlier state of dir, undamaged for all that we know, "" if there is none yet
	other  string // the indexes of another table, "" likewise
}

// harm is what is done to indexes between two processes.
type harm uint8

const (
	leave    harm = iota
	lose          // all files, or those of one index
	truncate      // a file
	flip          // bits of a file
	mixUp         // the indexes of two buckets
	replace       // by another table's
	setBack       // to an earlier state
	harms
)

func (h harm) String() string {
	return [...]string{"left", "lost", "truncated", "bits flipped", "mixed up", "another table's", "set back"}[h]
}

// do does harm, unless there is nothing to do it to.
func (x *indexes) do(h harm) (done bool) {
	folders := x.folders(x.dir)
	if len(folders) == 0 {
		return h == leave
	}
	one := folders[x.r.IntN(len(folders))]
	switch h {
	case lose:
		if x.r.IntN(2) == 0 {
			one = x.dir
		}
		require.NoError(x.t, os.RemoveAll(one))
	case truncate, flip:
		return x.damage(h)
	case mixUp:
		if len(folders) < 2 {
			return false
		}
		x.swap(folders[0], folders[1])
	case replace:
		return x.take(x.other, folders)
	case setBack:
		if x.copies == "" {
			return false
		}
		require.NoError(x.t, os.RemoveAll(x.dir))
		x.copyTo(x.copies, x.dir)
	}
	return true
}

// damage cuts or flips what is in one to three files.
func (x *indexes) damage(h harm) bool {
	files := x.files()
	if len(files) == 0 {
		return false
	}
	for range 1 + x.r.IntN(3) {
		name := files[x.r.IntN(len(files))]
		data, err := os.ReadFile(name)
		require.NoError(x.t, err)
		if len(data) == 0 {
			continue
		}
		if h == truncate {
			data = data[:x.r.IntN(len(data))]
		} else {
			for range 1 + x.r.IntN(8) {
				data[x.r.IntN(len(data))] ^= 1 << x.r.IntN(8)
			}
		}
		require.NoError(x.t, os.WriteFile(name, data, 0o600))
	}
	return true
}

func (x *indexes) swap(a, b string) {
	aside := x.dir + ".aside"
	require.NoError(x.t, os.Rename(a, aside))
	require.NoError(x.t, os.Rename(b, a))
	require.NoError(x.t, os.Rename(aside, b))
}

// take puts other indexes in place of ours.
func (x *indexes) take(from string, folders []string) bool {
	if from == "" {
		return false
	}
	others := x.folders(from)
	for i := range min(len(folders), len(others)) {
		require.NoError(x.t, os.RemoveAll(folders[i]))
		x.copyTo(others[i], folders[i])
	}
	return len(others) > 0
}

// keep makes a copy to set the indexes back to.
func (x *indexes) keep() {
	if len(x.folders(x.dir)) == 0 {
		return
	}
	x.copies = x.dir + ".copy"
	require.NoError(x.t, os.RemoveAll(x.copies))
	x.copyTo(x.dir, x.copies)
}

func (x *indexes) copyTo(from, to string) {
	require.NoError(x.t, os.CopyFS(to, os.DirFS(from)))
}

func (x *indexes) folders(dir string) (out []string) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(x.t, err)
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

func (x *indexes) files() (out []string) {
	require.NoError(x.t, filepath.WalkDir(x.dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, name)
		}
		return err
	}))
	return out
}

// picked chooses what is done to the indexes before a process that is to die in
// some way: half of the time nothing, but what brings it to that point.
func (x *indexes) picked(d *death) harm {
	switch {
	case d.needs != leave:
		return d.needs
	case x.r.IntN(2) == 0:
		return leave
	}
	return harm(1 + x.r.IntN(int(harms)-1))
}

// harmed does what was picked and says what was done.
func (x *indexes) harmed(h harm) string {
	if !x.do(h) {
		return fmt.Sprintf("could not be %s", h)
	}
	if h == leave && x.r.IntN(2) == 0 {
		x.keep()
	}
	return h.String()
}
