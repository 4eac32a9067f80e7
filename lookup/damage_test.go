package lookup

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// past is what an index held at each state that it ever had.
type past map[State]model

// grow commits random stages, and now and then flushes, rebuilds or closes and
// opens the index, which stays open at the end.
func (p past) grow(t *testing.T, rng *rand.Rand, c *Cache, x *Index, m model, first, rounds int64) *Index {
	t.Helper()
	for round := first; round < first+rounds; round++ {
		changes := model{}
		for range 1 + rng.IntN(200) {
			changes[rng.Int64N(600)] = round
			if rng.IntN(6) == 0 {
				changes[rng.Int64N(600)] = -1
			}
		}
		s := x.NewStage()
		fill(t, s, changes)
		require.NoError(t, s.Commit(t.Context(), stateOf(round)))
		m.apply(changes)
		p[stateOf(round)] = m.clone()
		switch rng.IntN(8) {
		case 0:
			require.NoError(t, x.Flush(t.Context()))
		case 1:
			require.NoError(t, x.Close())
			x = openIndex(t, c, testID)
		case 2:
			if rng.IntN(4) == 0 {
				require.NoError(t, x.Rebuild(t.Context(), stateOf(round), &slowSource{kv: m.records(t), step: 50}, nil))
			}
		}
	}
	return x
}

// check opens what is in the folder and compares it with what the index held at
// the state that it says it has. It tells what was found.
func (p past) check(t *testing.T, o Options, damaged string) string {
	t.Helper()
	c, err := OpenCache(o)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	x, err := c.Open(t.Context(), testID, orderSpec(t))
	require.NoError(t, err, damaged)
	st, ok := x.State()
	if !ok {
		return "empty"
	}
	want, known := p[st]
	require.True(t, known, "%s: a state that never was", damaged)
	got, err := find(t, x, ids(-1, 601))
	if err != nil {
		require.ErrorIs(t, err, ErrRebuild, damaged)
		return "error"
	}
	require.Equal(t, want, got, damaged)
	if len(p) > 0 && st == stateOf(int64(len(p)-1)) {
		return "latest"
	}
	return "earlier"
}

func damageOptions(fs vfs.FS) Options {
	return Options{
		Dir: "cache", StageBytes: 3_000, RecentBytes: 12_000, PageBytes: 1, fs: fs, // pages are read again and again
		log: logLimits{segmentMin: 4 << 10, garbageMin: 16 << 10, tailMax: 24 << 10},
	}
}

// now returns the files of the index as they are if the process ends now.
func now(t *testing.T, fs *vfs.MemFS) map[string][]byte {
	t.Helper()
	all := files(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}), "cache")
	delete(all, fs.PathJoin("cache", "0", "LOCK"))
	return all
}

// files lists the files of the index, with their contents.
func files(t *testing.T, fs vfs.FS, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	names, err := fs.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		require.NoError(t, err)
		if info.IsDir() {
			for k, v := range files(t, fs, path) {
				all[k] = v
			}
			continue
		}
		f, err := fs.Open(path)
		require.NoError(t, err)
		all[path], err = io.ReadAll(f)
		require.NoError(t, errors.Join(err, f.Close()))
	}
	return all
}

// copyTo writes files to a new file system.
func copyTo(t *testing.T, from map[string][]byte) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	for path, data := range from {
		require.NoError(t, fs.MkdirAll(fs.PathDir(path), 0o755))
		put(t, fs, path, data)
	}
	return fs
}

func put(t *testing.T, fs vfs.FS, path string, data []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(append([]byte(nil), data...)) // which may be spoilt, to find those who rely on it
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
}

// TestDamageOfEveryFile: each file of an index is deleted, emptied, cut and flipped
// at many places, and replaced by the same file of an earlier time. What the index
// answers afterwards is what it held at the state that it says it has, or an error
// that asks for a rebuild.
func TestDamageOfEveryFile(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 7))
		fs := vfs.NewCrashableMem()
		c, err := OpenCache(damageOptions(fs))
		require.NoError(t, err)
		x := openIndex(t, c, testID)
		p, m := past{}, model{}
		x = p.grow(t, rng, c, x, m, 0, 20)
		require.NoError(t, x.Flush(t.Context()))
		before := now(t, fs)
		x = p.grow(t, rng, c, x, m, 20, 12)
		if seed == 1 {
			require.NoError(t, x.Close())
		} else {
			s := x.NewStage()
			fill(t, s, model{3: 32, 4: -1})
			require.NoError(t, s.Commit(t.Context(), stateOf(32)))
			m.apply(model{3: 32, 4: -1})
			p[stateOf(32)] = m
		}
		after := now(t, fs) // no index is closed, nothing is written out
		require.NoError(t, c.Close())

		require.Equal(t, "latest", p.check(t, damageOptions(copyTo(t, after)), "undamaged"))
		for path, data := range after {
			for what, damaged := range damages(rng, data, before[path]) {
				fs := copyTo(t, after)
				name := fmt.Sprintf("seed %d, %s, %s", seed, path, what)
				if damaged == nil {
					require.NoError(t, fs.Remove(path))
				} else {
					put(t, fs, path, damaged)
				}
				outcomes[p.check(t, damageOptions(fs), name)]++
			}
		}
	}
	for _, o := range []string{"empty", "error", "earlier", "latest"} {
		require.Positive(t, outcomes[o], "no damage ended so: %s: %v", o, outcomes)
	}
}

// damages returns what may become of a file; nil: it is gone.
func damages(rng *rand.Rand, data, before []byte) map[string][]byte {
	d := map[string][]byte{"gone": nil, "empty": {}, "without its last byte": data[:max(len(data)-1, 0)]}
	if before != nil {
		d["as it was"] = before
	}
	for range 3 {
		if len(data) == 0 {
			break
		}
		at := rng.IntN(len(data))
		d[fmt.Sprintf("cut at %d", at)] = data[:at]
		flipped := append([]byte(nil), data...)
		flipped[at] ^= 1 << rng.IntN(8)
		d[fmt.Sprintf("flipped at %d", at)] = flipped
	}
	return d
}

// TestForeignFolder: the files of another index in the folder of this one, whole or
// file by file, are never taken for it.
func TestForeignFolder(t *testing.T) {
	grown := func(seed uint64, id ID) (map[string][]byte, past) {
		rng, fs := rand.New(rand.NewPCG(seed, 9)), vfs.NewMem()
		c, err := OpenCache(damageOptions(fs))
		require.NoError(t, err)
		x, err := c.Open(t.Context(), id, orderSpec(t))
		require.NoError(t, err)
		p, m := past{}, model{}
		changes := model{}
		for k := range int64(600) {
			changes[k] = int64(rng.IntN(50))
		}
		s := x.NewStage()
		fill(t, s, changes)
		require.NoError(t, s.Commit(t.Context(), stateOf(0)))
		m.apply(changes)
		p[stateOf(0)] = m
		require.NoError(t, c.Close())
		return files(t, fs, "cache"), p
	}
	other := testID
	other.Bucket++
	ours, p := grown(1, testID)
	theirs, _ := grown(2, other)
	twin, _ := grown(3, testID) // the same bucket, but of another life

	whole := map[string][]byte{}
	for path, data := range theirs {
		dir := vfs.NewMem().PathJoin("cache", "0", other.folder())
		if len(path) > len(dir) && path[:len(dir)] == dir {
			path = vfs.NewMem().PathJoin("cache", "0", testID.folder()) + path[len(dir):]
		}
		whole[path] = data
	}
	require.Equal(t, "empty", p.check(t, damageOptions(copyTo(t, whole)), "another bucket's"))

	// Files of the other life under the names of ours: by their place in the listing.
	name := func(path string) string { return vfs.NewMem().PathBase(path) }
	for path := range ours {
		for path2, data := range twin {
			if name(path) != name(path2) || name(path) == identityName || name(path) == "LOCK" {
				continue
			}
			fs := copyTo(t, ours)
			put(t, fs, path, data)
			require.NotEqual(t, "earlier", p.check(t, damageOptions(fs), "another life's "+path))
		}
	}
}

// TestCrashOfTheMachine: what was not synced is gone, in part or all.
func TestCrashOfTheMachine(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 5))
		fs := vfs.NewCrashableMem()
		c, err := OpenCache(damageOptions(fs))
		require.NoError(t, err)
		x := openIndex(t, c, testID)
		p, m := past{}, model{}
		x = p.grow(t, rng, c, x, m, 0, 1+rng.Int64N(25))
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rng.IntN(3)], RNG: rng})
		require.NoError(t, c.Close())
		_ = x
		outcomes[p.check(t, damageOptions(crashed), fmt.Sprintf("seed %d", seed))]++
	}
	require.Positive(t, outcomes["latest"]+outcomes["earlier"], "%v", outcomes)
}

// TestEndOfTheProcess: the files as they are at any moment, without a close, give
// the last commit.
func TestEndOfTheProcess(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 6))
		fs := vfs.NewCrashableMem()
		c, err := OpenCache(damageOptions(fs))
		require.NoError(t, err)
		x := openIndex(t, c, testID)
		p, m := past{}, model{}
		for range 4 {
			x = p.grow(t, rng, c, x, m, int64(len(p)), 4)
			open := x.NewStage() // never committed
			fill(t, open, model{1: 40, 2: -1})
			if rng.IntN(2) == 0 {
				require.NoError(t, open.Finish())
			}
			require.Equal(t, "latest", p.check(t, damageOptions(copyTo(t, now(t, fs))), fmt.Sprintf("seed %d", seed)))
			open.Discard()
		}
		require.NoError(t, c.Close())
	}
}
