package faultstore

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/objstore/storetest"
)

func TestConformanceWithoutRules(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return New(memstore.New(memstore.Options{})) })
}

// operation is something like a commit: some files, then the one that counts.
func operation(t *testing.T, s objstore.Store) error {
	ctx := t.Context()
	w, err := s.Create(ctx, "data")
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.WriteString(w, "some rows"); err != nil {
		return err
	}
	if err := w.Finish(ctx); err != nil {
		return err
	}
	if err := objstore.PutAll(ctx, s, []objstore.Object{{Name: "m1", Data: []byte("manifest")}, {Name: "m2", Data: []byte("manifest")}}); err != nil {
		return err
	}
	return s.PutIfAbsent(ctx, "snapshot-1", []byte("snapshot"))
}

func TestEveryInjectionPoint(t *testing.T) {
	type outcome struct {
		snapshot, error bool
	}
	points := map[Mode]int{}
	for _, mode := range []Mode{FailBefore, FailAfter, Torn, Pass} {
		for n := 1; ; n++ {
			inner := memstore.New(memstore.Options{})
			s := New(inner, Rule{Call: n, Mode: mode})
			err := operation(t, s)
			if s.Fired() == 0 {
				require.NoError(t, err)
				break
			}
			points[mode]++
			call := s.Calls()[n-1]
			visible, statErr := objstore.Exists(t.Context(), inner, "snapshot-1")
			require.NoError(t, statErr)
			got := outcome{visible, err != nil}
			want := outcome{mode == Pass || mode == FailAfter && call.Op == PutIfAbsent || call.Op == Abort, mode != Pass && call.Op != Abort}
			require.Equal(t, want, got, "%s %s", mode, call)
			if got.error {
				require.ErrorIs(t, err, ErrInjected)
			}
			data, readErr := objstore.ReadAll(t.Context(), inner, "m1")
			switch {
			case mode == Torn && call.Op == Put && call.Name == "m1":
				require.Equal(t, "mani", string(data))
			case readErr == nil:
				require.Equal(t, "manifest", string(data))
			}
		}
	}
	// create, write, finish, put, put, put-if-absent, abort
	require.Equal(t, map[Mode]int{FailBefore: 7, FailAfter: 7, Torn: 7, Pass: 7}, points)
}

func TestTornPutIfAbsentIsInvisible(t *testing.T) {
	inner := memstore.New(memstore.Options{})
	s := New(inner, Rule{Ops: []Op{PutIfAbsent}, Mode: Torn, Times: 1})
	require.ErrorIs(t, s.PutIfAbsent(t.Context(), "snapshot-1", []byte("snapshot")), ErrInjected)
	objects, _, err := inner.ListDir(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, objects, 1)
	require.Contains(t, objects[0].Name, ".torn")
	require.NoError(t, s.PutIfAbsent(t.Context(), "snapshot-1", []byte("snapshot")))
}

func TestSelection(t *testing.T) {
	ctx := t.Context()
	own := errors.New("own")
	s := New(memstore.New(memstore.Options{}),
		Rule{Ops: []Op{Put}, Name: "manifest-list-*", Skip: 1, Times: 2, Err: own},
		Rule{Ops: []Op{Stat, Delete}})
	require.NoError(t, s.Put(ctx, "t/manifest-list-0", nil))
	require.NoError(t, s.Put(ctx, "t/manifest-0", nil))
	require.ErrorIs(t, s.Put(ctx, "t/manifest-list-1", nil), own)
	require.ErrorIs(t, s.Put(ctx, "t/manifest-list-2", nil), own)
	require.NoError(t, s.Put(ctx, "t/manifest-list-3", nil))
	_, err := s.Stat(ctx, "t/manifest-0")
	require.ErrorIs(t, err, ErrInjected)
	require.EqualError(t, err, "call 6, stat t/manifest-0, fail-before: injected failure")
	require.ErrorIs(t, s.Delete(ctx, "t/manifest-0"), ErrInjected)
	require.Equal(t, 4, s.Fired())
	s.SetRules()
	require.Empty(t, s.Calls())
	require.NoError(t, s.Delete(ctx, "t/manifest-0"))
}

func TestWrongLists(t *testing.T) {
	ctx := t.Context()
	now := time.UnixMilli(0)
	s := New(memstore.New(memstore.Options{Now: func() time.Time { now = now.Add(time.Second); return now }}))
	for _, name := range []string{"s/3", "s/1", "s/2"} {
		require.NoError(t, s.Put(ctx, name, nil))
	}
	require.NoError(t, s.Delete(ctx, "s/3"))
	names := func() []string {
		var fromList, fromDir []string
		require.NoError(t, s.List(ctx, "s", func(i objstore.Info) error { fromList = append(fromList, i.Name); return nil }))
		objects, _, err := s.ListDir(ctx, "s")
		require.NoError(t, err)
		for _, o := range objects {
			fromDir = append(fromDir, o.Name)
		}
		require.Equal(t, fromDir, fromList)
		return fromList
	}
	require.Equal(t, []string{"s/1", "s/2"}, names())
	s.SetRules(Rule{Ops: []Op{List}, Mode: StaleList, HideNewest: 1})
	require.Equal(t, []string{"s/1"}, names())
	s.SetRules(Rule{Ops: []Op{List}, Mode: StaleList, HideNewest: 9})
	require.Empty(t, names())
	s.SetRules(Rule{Ops: []Op{List}, Mode: DeletedList})
	require.Equal(t, []string{"s/1", "s/2", "s/3"}, names())
}

func TestHookRunsBeforeTheEffect(t *testing.T) {
	inner := memstore.New(memstore.Options{})
	s := New(inner, Rule{Ops: []Op{PutIfAbsent}, Times: 1, Mode: Pass, Hook: func(c Call) {
		require.NoError(t, inner.PutIfAbsent(t.Context(), c.Name, []byte("other")))
	}})
	require.ErrorIs(t, s.PutIfAbsent(t.Context(), "snapshot-1", []byte("mine")), objstore.ErrExists)
}

func TestReads(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New(memstore.Options{})
	require.NoError(t, inner.Put(ctx, "a", []byte("12345678")))
	for _, mode := range []Mode{FailBefore, FailAfter, Torn} {
		for _, op := range []Op{Open, Read} {
			_, err := objstore.ReadAll(ctx, New(inner, Rule{Ops: []Op{op}, Mode: mode}), "a")
			require.ErrorIs(t, err, ErrInjected)
		}
	}
	r, err := New(inner, Rule{Ops: []Op{Read}, Mode: Torn}).Open(ctx, "a")
	require.NoError(t, err)
	n, err := r.ReadAt(make([]byte, 8), 0)
	require.ErrorIs(t, err, ErrInjected)
	require.Equal(t, 4, n)
}
