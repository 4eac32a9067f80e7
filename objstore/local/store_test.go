package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/storetest"
)

const (
	raceRootEnv  = "LOCAL_STORE_TEST_RACE_ROOT"
	raceRounds   = 40
	raceChildren = 5
)

func TestMain(m *testing.M) {
	if root := os.Getenv(raceRootEnv); root != "" {
		os.Exit(raceChild(root))
	}
	os.Exit(m.Run())
}

// raceChild is one process of the race: for each line on standard input it tries
// to create the object of that name and answers who won.
func raceChild(root string) int {
	s := New(root, Options{NoSync: true})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		err := s.PutIfAbsent(context.Background(), in.Text(), fmt.Appendf(nil, "process %d", os.Getpid()))
		switch {
		case err == nil:
			fmt.Println("won", os.Getpid())
		case errors.Is(err, objstore.ErrExists):
			fmt.Println("lost")
		default:
			fmt.Println("error", err)
		}
	}
	return 0
}

// TestRaceOfProcesses lets several processes create the same objects: each has
// exactly one winner, and its content.
func TestRaceOfProcesses(t *testing.T) {
	root := t.TempDir()
	type child struct {
		in  io.WriteCloser
		out *bufio.Reader
	}
	var children []child
	for range raceChildren {
		cmd := exec.Command(os.Args[0]) // ends with its standard input
		cmd.Env = append(os.Environ(), raceRootEnv+"="+root)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			in.Close()
			require.NoError(t, cmd.Wait())
		})
		children = append(children, child{in, bufio.NewReader(out)})
	}
	for round := range raceRounds {
		name := fmt.Sprintf("t/snapshot/snapshot-%d", round+1)
		for _, c := range children {
			_, err := fmt.Fprintln(c.in, name)
			require.NoError(t, err)
		}
		winner := ""
		for _, c := range children {
			line, err := c.out.ReadString('\n')
			require.NoError(t, err)
			if line = strings.TrimSpace(line); line == "lost" {
				continue
			}
			pid, ok := strings.CutPrefix(line, "won ")
			require.True(t, ok, line)
			require.Empty(t, winner, "a second winner of round %d", round)
			winner = pid
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, "process "+winner, string(data))
	}
	entries, err := os.ReadDir(filepath.Join(root, "t/snapshot"))
	require.NoError(t, err)
	require.Len(t, entries, raceRounds, "no temporary file is left")
}

func TestConformance(t *testing.T) {
	for name, opts := range map[string]Options{"sync": {}, "no sync": {NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) objstore.Store { return New(t.TempDir(), opts) })
		})
	}
}

func TestRootOfTheFileSystem(t *testing.T) {
	s := New("/", Options{NoSync: true})
	dir := t.TempDir()
	name, err := objstore.NameOfURI("file:" + dir + "/t/x")
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), name, []byte("1")))
	data, err := os.ReadFile(dir + "/t/x")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	var names []string
	base := strings.TrimPrefix(dir, "/")
	require.NoError(t, s.List(t.Context(), base, func(i objstore.Info) error { names = append(names, i.Name); return nil }))
	require.Equal(t, []string{name}, names)
}

func TestTemporaryFiles(t *testing.T) {
	ctx := t.Context()
	root := t.TempDir()
	s := New(root, Options{NoSync: true})
	require.NoError(t, s.Put(ctx, "t/snapshot/snapshot-1", []byte("1")))
	leftover := ".snapshot-2.6f9619ff-8b86-d011-b42d-00cf4fc964ff.tmp"
	require.NoError(t, os.WriteFile(filepath.Join(root, "t/snapshot", leftover), []byte("half"), 0o644))
	w, err := s.Create(ctx, "t/bucket-0/data-1")
	require.NoError(t, err)

	var seen, temps []string
	require.NoError(t, s.List(ctx, "t", func(i objstore.Info) error { seen = append(seen, i.Name); return nil }))
	require.Equal(t, []string{"t/snapshot/snapshot-1"}, seen)
	objects, _, err := s.ListDir(ctx, "t/snapshot")
	require.NoError(t, err)
	require.Len(t, objects, 1)
	require.NoError(t, s.ListTemp(ctx, "t", func(i objstore.Info) error { temps = append(temps, i.Name); return nil }))
	require.Len(t, temps, 2)
	require.Contains(t, temps, "t/snapshot/"+leftover)
	require.NoError(t, s.Delete(ctx, "t/snapshot/"+leftover))
	require.NoError(t, w.Abort())
	temps = nil
	require.NoError(t, s.ListTemp(ctx, "t", func(i objstore.Info) error { temps = append(temps, i.Name); return nil }))
	require.Empty(t, temps)

	var bad *objstore.NameError
	require.ErrorAs(t, s.Put(ctx, "t/"+leftover, nil), &bad, "it would be invisible")
}

// TestHintsOfSeveralStores has goroutines with stores of their own, like
// processes, replace one hint: it always holds one of the contents.
func TestHintsOfSeveralStores(t *testing.T) {
	ctx := t.Context()
	root := t.TempDir()
	s := New(root, Options{NoSync: true})
	require.NoError(t, s.PutHint(ctx, "t/LATEST", []byte("1000")))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			store := New(root, Options{NoSync: true})
			for i := range 50 {
				if err := store.PutHint(ctx, "t/LATEST", fmt.Appendf(nil, "%d", 1000+50*w+i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { // ends with the writers
		wg.Wait()
		close(done)
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		_, err := objstore.ReadAll(ctx, s, "t/LATEST")
		require.NoError(t, err)
	}
	data, err := objstore.ReadAll(ctx, s, "t/LATEST")
	require.NoError(t, err)
	require.Len(t, data, 4)
	entries, err := os.ReadDir(filepath.Join(root, "t"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// TestHintsLeaveBackupsAlone keeps the hint under a second name, as backups by
// hard links do.
func TestHintsLeaveBackupsAlone(t *testing.T) {
	ctx := t.Context()
	root := t.TempDir()
	s := New(root, Options{NoSync: true})
	require.NoError(t, s.PutHint(ctx, "LATEST", []byte("1")))
	require.NoError(t, os.Link(filepath.Join(root, "LATEST"), filepath.Join(root, "backup")))
	require.NoError(t, s.PutHint(ctx, "LATEST", []byte("2")))
	for name, want := range map[string]string{"LATEST": "2", "backup": "1"} {
		data, err := objstore.ReadAll(ctx, s, name)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
}

func TestLongestFileName(t *testing.T) {
	s := New(t.TempDir(), Options{NoSync: true})
	name := "tag/" + strings.Repeat("n", fileNameMaxBytes)
	require.NoError(t, s.PutIfAbsent(t.Context(), name, []byte("1")))
	data, err := objstore.ReadAll(t.Context(), s, name)
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
}

func TestLinks(t *testing.T) {
	ctx := t.Context()
	real, root := t.TempDir(), t.TempDir()
	s := New(root, Options{NoSync: true})
	require.NoError(t, os.WriteFile(filepath.Join(real, "x"), []byte("1"), 0o644))
	require.NoError(t, os.Symlink(real, filepath.Join(root, "linked")))
	require.NoError(t, os.Symlink(root, filepath.Join(real, "round")))
	var names []string
	require.NoError(t, s.List(ctx, "linked", func(i objstore.Info) error { names = append(names, i.Name); return nil }))
	require.Equal(t, []string{"linked/x"}, names)
	require.NoError(t, s.DeleteDir(ctx, "linked"))
	_, err := os.Stat(filepath.Join(real, "x"))
	require.NoError(t, err, "a link is removed, not what it leads to")
}

// TestFolderSyncsAreShared holds the first fsync back until all other callers
// wait: one more fsync is enough for them, and it begins after they came.
func TestFolderSyncsAreShared(t *testing.T) {
	var syncs folderSyncs
	var runs atomic.Int32
	started, release := make(chan struct{}), make(chan struct{})
	boom := errors.New("boom")
	fsync := func(path string) error {
		require.Equal(t, "/d", path)
		if runs.Add(1) == 1 {
			close(started)
			<-release
			return nil
		}
		return boom
	}
	var wg sync.WaitGroup
	wg.Go(func() { require.NoError(t, syncs.do("/d", fsync)) })
	<-started
	var arrived sync.WaitGroup
	for range 10 {
		arrived.Add(1)
		wg.Go(func() {
			arrived.Done()
			require.ErrorIs(t, syncs.do("/d", fsync), boom)
		})
	}
	arrived.Wait()
	close(release)
	wg.Wait()
	// The callers may come in as many groups as there are, but never join the
	// first run; with all of them waiting it is one group.
	require.GreaterOrEqual(t, runs.Load(), int32(2))
	require.LessOrEqual(t, runs.Load(), int32(11))
	require.Empty(t, syncs.folders)
}
