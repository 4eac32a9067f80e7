// Package storetest is the conformance suite of [objstore.Store]. Every
// implementation runs it in its tests.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
)

// Run checks that a store keeps the contract. open returns an empty store.
func Run(t *testing.T, open func(t *testing.T) objstore.Store) {
	for name, test := range map[string]func(*testing.T, objstore.Store){
		"put and read":          testPut,
		"create":                testCreate,
		"put if absent":         testPutIfAbsent,
		"race of put if absent": testRace,
		"put is never a mix":    testNoMix,
		"stat and delete":       testStatDelete,
		"list":                  testList,
		"folders":               testFolders,
		"batch and hint":        testBatch,
		"stage":                 testStage,
		"hostile names":         testHostileNames,
		"odd names":             testOddNames,
		"cancelled":             testCancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func read(t *testing.T, s objstore.Store, name string) string {
	t.Helper()
	data, err := objstore.ReadAll(t.Context(), s, name)
	require.NoError(t, err)
	return string(data)
}

func testPut(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	data := []byte("one")
	require.NoError(t, s.Put(ctx, "db/t/tag/tag-a", data))
	data[0] = 'X' // the store keeps a copy
	require.Equal(t, "one", read(t, s, "db/t/tag/tag-a"))
	require.NoError(t, s.Put(ctx, "db/t/tag/tag-a", []byte("second")))
	require.Equal(t, "second", read(t, s, "db/t/tag/tag-a"))
	require.NoError(t, s.Put(ctx, "empty", nil))
	require.Equal(t, "", read(t, s, "empty"))

	_, err := s.Open(ctx, "db/t/tag/tag-b")
	require.ErrorIs(t, err, objstore.ErrNotExist)
	_, err = s.Open(ctx, "db/t/tag")
	require.ErrorIs(t, err, objstore.ErrNotExist, "a folder is no object")
	_, err = s.Open(ctx, "empty/below-an-object")
	require.ErrorIs(t, err, objstore.ErrNotExist)
	_, err = objstore.ReadAllMax(ctx, s, "db/t/tag/tag-a", 5)
	require.ErrorIs(t, err, objstore.ErrTooLarge)

	r, err := s.Open(ctx, "db/t/tag/tag-a")
	require.NoError(t, err)
	defer r.Close()
	require.EqualValues(t, 6, r.Size())
	require.NoError(t, s.Put(ctx, "db/t/tag/tag-a", []byte("third and longer")))
	p := make([]byte, 4)
	n, err := r.ReadAt(p, 1)
	require.NoError(t, err)
	require.Equal(t, "econ", string(p[:n]), "an open reader keeps its object")
	n, err = r.ReadAt(p, 4)
	require.Equal(t, io.EOF, err)
	require.Equal(t, 2, n)
	_, err = r.ReadAt(p, 100)
	require.Equal(t, io.EOF, err)
}

func testCreate(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	w, err := s.Create(ctx, "t/bucket-0/data-1.parquet")
	require.NoError(t, err)
	for _, part := range []string{"PAR1", "", "rows"} {
		n, err := io.WriteString(w, part)
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	_, err = s.Stat(ctx, "t/bucket-0/data-1.parquet")
	require.ErrorIs(t, err, objstore.ErrNotExist, "invisible before Finish")
	objects, _, err := s.ListDir(ctx, "t/bucket-0")
	require.NoError(t, err)
	require.Empty(t, objects, "invisible before Finish")
	require.NoError(t, w.Finish(ctx))
	require.Equal(t, "PAR1rows", read(t, s, "t/bucket-0/data-1.parquet"))
	require.NoError(t, w.Abort(), "nothing happens after Finish")
	require.Equal(t, "PAR1rows", read(t, s, "t/bucket-0/data-1.parquet"))
	_, err = w.Write([]byte("late"))
	require.Error(t, err)
	require.Error(t, w.Finish(ctx))

	w, err = s.Create(ctx, "t/bucket-0/data-2.parquet")
	require.NoError(t, err)
	_, err = w.Write([]byte("gone"))
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	require.Error(t, w.Finish(ctx))
	_, err = s.Stat(ctx, "t/bucket-0/data-2.parquet")
	require.ErrorIs(t, err, objstore.ErrNotExist)
}

func testPutIfAbsent(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	require.NoError(t, s.PutIfAbsent(ctx, "t/snapshot/snapshot-1", []byte("mine")))
	require.ErrorIs(t, s.PutIfAbsent(ctx, "t/snapshot/snapshot-1", []byte("yours")), objstore.ErrExists)
	require.ErrorIs(t, s.PutIfAbsent(ctx, "t/snapshot/snapshot-1", []byte("mine")), objstore.ErrExists)
	require.Equal(t, "mine", read(t, s, "t/snapshot/snapshot-1"))
	require.NoError(t, s.Delete(ctx, "t/snapshot/snapshot-1"))
	require.NoError(t, s.PutIfAbsent(ctx, "t/snapshot/snapshot-1", []byte("again")))
	require.Equal(t, "again", read(t, s, "t/snapshot/snapshot-1"))
}

func testRace(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	const racers, rounds = 8, 25
	for round := range rounds {
		name := fmt.Sprintf("t/snapshot/snapshot-%d", round+1)
		var won, other atomic.Int32
		var winner atomic.Value
		start := make(chan struct{})
		var wg sync.WaitGroup
		for racer := range racers {
			wg.Go(func() {
				content := strings.Repeat(fmt.Sprintf("racer %d ", racer), 100)
				<-start
				switch err := s.PutIfAbsent(ctx, name, []byte(content)); {
				case err == nil:
					won.Add(1)
					winner.Store(content)
				case !errors.Is(err, objstore.ErrExists):
					other.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 1, won.Load(), "winners of round %d", round)
		require.Zero(t, other.Load(), "errors of round %d", round)
		require.Equal(t, winner.Load(), read(t, s, name))
	}
}

func testNoMix(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	contents := [2][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 50_000)}
	require.NoError(t, s.Put(ctx, "hint", contents[0]))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 40 {
			if s.Put(ctx, "hint", contents[i%2]) != nil {
				return
			}
		}
	})
	reads := 0
	for running := true; running || reads == 0; reads++ {
		select {
		case <-done:
			running = false
		default:
		}
		got := read(t, s, "hint")
		require.True(t, got == string(contents[0]) || got == string(contents[1]), "a mix of %d bytes", len(got))
	}
	wg.Wait()
}

func testStatDelete(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	require.NoError(t, s.Put(ctx, "a/b", []byte("12345")))
	info, err := s.Stat(ctx, "a/b")
	require.NoError(t, err)
	require.Equal(t, "a/b", info.Name)
	require.EqualValues(t, 5, info.Size)
	require.False(t, info.ModTime.IsZero())
	_, err = s.Stat(ctx, "a")
	require.ErrorIs(t, err, objstore.ErrNotExist, "a folder is no object")
	_, err = s.Stat(ctx, "a/b/c")
	require.ErrorIs(t, err, objstore.ErrNotExist)

	require.NoError(t, s.Delete(ctx, "a"), "a folder is no object")
	require.NoError(t, s.Delete(ctx, "a/x"))
	require.NoError(t, s.Delete(ctx, "x/y/z"))
	require.Equal(t, "12345", read(t, s, "a/b"))
	require.NoError(t, s.Delete(ctx, "a/b"))
	require.NoError(t, s.Delete(ctx, "a/b"))
	ok, err := objstore.Exists(ctx, s, "a/b")
	require.NoError(t, err)
	require.False(t, ok)
}

func testList(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	names := []string{"t/a", "t/snapshot/LATEST", "t/snapshot/snapshot-1", "t/snapshot/snapshot-10", "t/snapshot/sub/x", "t2/b", "top"}
	for _, name := range names {
		require.NoError(t, s.Put(ctx, name, []byte(name)))
	}
	list := func(dir string) []string {
		var got []string
		require.NoError(t, s.List(ctx, dir, func(info objstore.Info) error {
			require.EqualValues(t, len(info.Name), info.Size)
			require.False(t, info.ModTime.IsZero())
			got = append(got, info.Name)
			return nil
		}))
		slices.Sort(got)
		return got
	}
	require.Equal(t, names, list(""))
	require.Equal(t, names[:5], list("t"), "t2 is not below t")
	require.Equal(t, names[1:5], list("t/snapshot"))
	require.Empty(t, list("t/snap"))
	require.Empty(t, list("none/at/all"))
	require.Empty(t, list("t/a"), "an object is no folder")

	stop := errors.New("stop")
	calls := 0
	require.ErrorIs(t, s.List(ctx, "t", func(objstore.Info) error { calls++; return stop }), stop)
	require.Equal(t, 1, calls)

	objects, dirs, err := s.ListDir(ctx, "t")
	require.NoError(t, err)
	require.Len(t, objects, 1)
	require.Equal(t, "t/a", objects[0].Name)
	require.EqualValues(t, 3, objects[0].Size)
	require.Equal(t, []string{"t/snapshot"}, dirs)
	objects, dirs, err = s.ListDir(ctx, "")
	require.NoError(t, err)
	require.Len(t, objects, 1)
	require.Equal(t, []string{"t", "t2"}, dirs)
	objects, dirs, err = s.ListDir(ctx, "none")
	require.NoError(t, err)
	require.Empty(t, objects)
	require.Empty(t, dirs)
}

func testFolders(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	exists := func(dir string) bool {
		ok, err := s.DirExists(ctx, dir)
		require.NoError(t, err)
		return ok
	}
	require.False(t, exists("db.db"))
	require.NoError(t, s.MkdirAll(ctx, "wh/db.db"))
	require.NoError(t, s.MkdirAll(ctx, "wh/db.db"))
	require.True(t, exists("wh/db.db"))
	require.True(t, exists("wh"))
	require.NoError(t, s.Put(ctx, "wh/db.db/t/schema/schema-0", []byte("{}")))
	require.True(t, exists("wh/db.db/t"))
	require.False(t, exists("wh/db.db/t/schema/schema-0"), "an object is no folder")
	_, dirs, err := s.ListDir(ctx, "wh")
	require.NoError(t, err)
	require.Equal(t, []string{"wh/db.db"}, dirs)

	require.ErrorIs(t, s.RenameDir(ctx, "wh/db.db/none", "wh/db.db/u"), objstore.ErrNotExist)
	require.NoError(t, s.RenameDir(ctx, "wh/db.db/t", "wh/db2.db/u"))
	require.False(t, exists("wh/db.db/t"))
	require.Equal(t, "{}", read(t, s, "wh/db2.db/u/schema/schema-0"))
	require.NoError(t, s.MkdirAll(ctx, "wh/db.db/v"))
	require.ErrorIs(t, s.RenameDir(ctx, "wh/db.db/v", "wh/db2.db/u"), objstore.ErrExists)
	require.Equal(t, "{}", read(t, s, "wh/db2.db/u/schema/schema-0"))

	require.NoError(t, s.DeleteEmptyDir(ctx, "wh/db2.db/u/schema"), "not empty: nothing happens")
	require.Equal(t, "{}", read(t, s, "wh/db2.db/u/schema/schema-0"))
	require.NoError(t, s.DeleteEmptyDir(ctx, "wh/db.db/v"))
	require.False(t, exists("wh/db.db/v"))
	require.NoError(t, s.DeleteEmptyDir(ctx, "wh/db.db/v"))

	require.NoError(t, s.Put(ctx, "wh/db2.dbx", []byte("not below")))
	require.NoError(t, s.DeleteDir(ctx, "wh/db2.db"))
	require.False(t, exists("wh/db2.db"))
	require.Equal(t, "not below", read(t, s, "wh/db2.dbx"))
	require.NoError(t, s.DeleteDir(ctx, "wh/db2.db"))
	require.NoError(t, s.DeleteDir(ctx, "wh/db2.dbx"), "an object is no folder")
	require.Equal(t, "not below", read(t, s, "wh/db2.dbx"))
}

func testBatch(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	var batch []objstore.Object
	for i := range 20 {
		batch = append(batch, objstore.Object{Name: fmt.Sprintf("t/%d/manifest-%d", i%3, i), Data: bytes.Repeat([]byte{byte(i)}, i)})
	}
	require.NoError(t, objstore.PutAll(ctx, s, batch))
	for _, o := range batch {
		require.Equal(t, string(o.Data), read(t, s, o.Name))
	}
	require.NoError(t, objstore.PutAll(ctx, s, nil))
	var bad *objstore.NameError
	require.ErrorAs(t, objstore.PutAll(ctx, s, []objstore.Object{{Name: "../x"}}), &bad)
	require.NoError(t, objstore.PutHint(ctx, s, "t/snapshot/LATEST", []byte("1")))
	require.NoError(t, objstore.PutHint(ctx, s, "t/snapshot/LATEST", []byte("2")))
	require.Equal(t, "2", read(t, s, "t/snapshot/LATEST"))
	for i := range 20 { // of any length, and whatever happens to it meanwhile
		hint := strings.Repeat("9", i%3+1)
		switch i {
		case 7:
			require.NoError(t, s.Delete(ctx, "t/snapshot/LATEST"))
		case 12:
			require.NoError(t, s.Put(ctx, "t/snapshot/LATEST", []byte("other")))
		}
		require.NoError(t, objstore.PutHint(ctx, s, "t/snapshot/LATEST", []byte(hint)))
		require.Equal(t, hint, read(t, s, "t/snapshot/LATEST"))
	}
	objects, _, err := s.ListDir(ctx, "t/snapshot")
	require.NoError(t, err)
	require.Len(t, objects, 1)
	require.ErrorAs(t, objstore.PutHint(ctx, s, "a/..", nil), &bad)
}

func testStage(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	stage := func(content string) objstore.Staged {
		st, err := objstore.Stage(ctx, s, "t/snapshot/snapshot-1", []byte(content))
		require.NoError(t, err)
		t.Cleanup(st.Discard)
		return st
	}
	dropped, first, second := stage("dropped"), stage("first"), stage("second")
	_, err := s.Stat(ctx, "t/snapshot/snapshot-1")
	require.ErrorIs(t, err, objstore.ErrNotExist)
	dropped.Discard()
	require.NoError(t, first.Publish(ctx))
	require.ErrorIs(t, second.Publish(ctx), objstore.ErrExists)
	first.Discard()
	second.Discard()
	require.Equal(t, "first", read(t, s, "t/snapshot/snapshot-1"))
	objects, _, err := s.ListDir(ctx, "t/snapshot")
	require.NoError(t, err)
	require.Len(t, objects, 1)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, stage("late").Publish(cancelled), context.Canceled)
}

// testHostileNames gives every call names that must not reach a file system.
func testHostileNames(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	require.NoError(t, s.Put(ctx, "a/b", []byte("1")))
	for _, name := range []string{"..", ".", "../x", "a/../b", "a/..", "a/./b", "/abs", "/", "a//b", "a/", "a\x00b", "\xff", strings.Repeat("x/", 3000) + "x"} {
		_, openErr := s.Open(ctx, name)
		_, createErr := s.Create(ctx, name)
		_, statErr := s.Stat(ctx, name)
		_, _, listDirErr := s.ListDir(ctx, name)
		_, existsErr := s.DirExists(ctx, name)
		for call, err := range map[string]error{
			"open": openErr, "create": createErr, "stat": statErr, "list dir": listDirErr, "dir exists": existsErr,
			"put": s.Put(ctx, name, nil), "put if absent": s.PutIfAbsent(ctx, name, nil), "delete": s.Delete(ctx, name),
			"list": s.List(ctx, name, func(objstore.Info) error { return nil }), "delete dir": s.DeleteDir(ctx, name),
			"delete empty dir": s.DeleteEmptyDir(ctx, name),
			"rename from":      s.RenameDir(ctx, name, "q"), "rename to": s.RenameDir(ctx, "a", name), "mkdir": s.MkdirAll(ctx, name),
		} {
			var bad *objstore.NameError
			require.ErrorAs(t, err, &bad, "%s %q", call, name)
		}
	}
	var bad *objstore.NameError
	require.ErrorAs(t, s.DeleteDir(ctx, ""), &bad, "the root cannot be removed")
	require.ErrorAs(t, s.Put(ctx, "", nil), &bad)
	require.Equal(t, "1", read(t, s, "a/b"))
}

func testOddNames(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	names := []string{"dt=2024%2F01/k=a b+c&d,e;f/bucket-0/x", "日本語/名=値", "..a/b..", "a/...", "-x/--", "%2e%2e/x", "a\\b", "new\nline", "x/" + strings.Repeat("n", 200)}
	for _, name := range names {
		require.NoError(t, s.Put(ctx, name, []byte(name)))
	}
	var got []string
	require.NoError(t, s.List(ctx, "", func(info objstore.Info) error { got = append(got, info.Name); return nil }))
	require.ElementsMatch(t, names, got)
	for _, name := range names {
		require.Equal(t, name, read(t, s, name))
		require.NoError(t, s.Delete(ctx, name))
	}
}

func testCancelled(t *testing.T, s objstore.Store) {
	require.NoError(t, s.Put(t.Context(), "a", []byte("1")))
	w, err := s.Create(t.Context(), "b")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, openErr := s.Open(ctx, "a")
	_, statErr := s.Stat(ctx, "a")
	for call, err := range map[string]error{
		"open": openErr, "stat": statErr, "finish": w.Finish(ctx), "put": s.Put(ctx, "c", nil),
		"put if absent": s.PutIfAbsent(ctx, "d", nil), "delete": s.Delete(ctx, "a"),
		"list": s.List(ctx, "", func(objstore.Info) error { return nil }),
	} {
		require.ErrorIs(t, err, context.Canceled, call)
	}
	require.Equal(t, "1", read(t, s, "a"))
}
