package faultstore

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"sluice/objstore"
)

// Store is a store that fails where its rules say.
//
// A torn Put or Finish leaves half of the object visible under its name, as a
// file system without the contract of [objstore.Store] does; a torn PutIfAbsent
// leaves it under a temporary name only, as nobody may ever see a part of what
// is the commit point; a torn Read returns half of the bytes with the error.
// For other calls, Torn is FailAfter.
type Store struct {
	inner objstore.Store

	mu struct {
		sync.Mutex
		rules   []ruleState
		calls   []Call
		fired   int
		deleted map[string]objstore.Info // for DeletedList
	}
}

type ruleState struct {
	Rule
	seen int // calls it selected so far
}

var (
	_ objstore.Store       = (*Store)(nil)
	_ objstore.BatchPutter = (*Store)(nil)
	_ objstore.TempLister  = (*Store)(nil)
)

// New wraps a store. The first rule that selects a call decides.
func New(inner objstore.Store, rules ...Rule) *Store {
	s := &Store{inner: inner}
	s.SetRules(rules...)
	return s
}

// SetRules replaces the rules and counts calls from 1 again.
func (s *Store) SetRules(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rules = make([]ruleState, len(rules))
	for i, r := range rules {
		s.mu.rules[i].Rule = r
	}
	s.mu.calls, s.mu.fired = nil, 0
}

// Calls returns the calls since the rules were set.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.calls)
}

// Fired returns how many calls a rule has taken since the rules were set.
func (s *Store) Fired() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.fired
}

// enter counts a call and returns the rule that takes it, or nil.
func (s *Store) enter(op Op, name string) (Call, *Rule) {
	s.mu.Lock()
	call := Call{Number: len(s.mu.calls) + 1, Op: op, Name: name}
	s.mu.calls = append(s.mu.calls, call)
	var taken *Rule
	for i := range s.mu.rules {
		r := &s.mu.rules[i]
		if !r.matches(call) {
			continue
		}
		r.seen++
		if r.seen > r.Skip && (r.Times == 0 || r.seen <= r.Skip+r.Times) {
			s.mu.fired++
			rule := r.Rule
			taken = &rule
			break
		}
	}
	s.mu.Unlock()
	if taken != nil && taken.Hook != nil {
		taken.Hook(call)
	}
	return call, taken
}

// run makes a call without a torn form.
func (s *Store) run(op Op, name string, effect func() error) error {
	call, rule := s.enter(op, name)
	return finish(call, rule, effect)
}

func finish(call Call, rule *Rule, effect func() error) error {
	if rule == nil || rule.Mode == Pass || rule.Mode == StaleList || rule.Mode == DeletedList {
		return effect()
	}
	if rule.Mode != FailBefore {
		if err := effect(); err != nil {
			return err
		}
	}
	return rule.err(call)
}

// Open implements [objstore.Store].
func (s *Store) Open(ctx context.Context, name string) (objstore.Reader, error) {
	var r objstore.Reader
	err := s.run(Open, name, func() (err error) {
		r, err = s.inner.Open(ctx, name)
		return err
	})
	if err != nil {
		if r != nil {
			r.Close()
		}
		return nil, err
	}
	return &reader{Reader: r, store: s, name: name}, nil
}

type reader struct {
	objstore.Reader
	store *Store
	name  string
}

func (r *reader) ReadAt(p []byte, off int64) (n int, err error) {
	call, rule := r.store.enter(Read, r.name)
	if rule != nil && rule.Mode == Torn {
		n, err = r.Reader.ReadAt(p[:len(p)/2], off)
		if err != nil {
			return n, err
		}
		return n, rule.err(call)
	}
	err = finish(call, rule, func() error {
		n, err = r.Reader.ReadAt(p, off)
		return err
	})
	return n, err
}

// Create implements [objstore.Store].
func (s *Store) Create(ctx context.Context, name string) (objstore.Writer, error) {
	var w objstore.Writer
	err := s.run(Create, name, func() (err error) {
		w, err = s.inner.Create(ctx, name)
		return err
	})
	if err != nil {
		if w != nil {
			w.Abort()
		}
		return nil, err
	}
	return &writer{inner: w, store: s, name: name}, nil
}

type writer struct {
	inner   objstore.Writer
	store   *Store
	name    string
	content []byte // for a torn Finish
}

func (w *writer) Write(p []byte) (int, error) {
	call, rule := w.store.enter(Write, w.name)
	if rule != nil && rule.Mode == Torn {
		n, err := w.inner.Write(p[:len(p)/2])
		w.content = append(w.content, p[:n]...)
		if err != nil {
			return n, err
		}
		return n, rule.err(call)
	}
	var n int
	err := finish(call, rule, func() (err error) {
		n, err = w.inner.Write(p)
		return err
	})
	w.content = append(w.content, p[:n]...)
	return n, err
}

func (w *writer) Finish(ctx context.Context) error {
	call, rule := w.store.enter(Finish, w.name)
	switch {
	case rule != nil && rule.Mode == Torn:
		w.inner.Abort()
		if err := w.store.inner.Put(ctx, w.name, w.content[:len(w.content)/2]); err != nil {
			return err
		}
		return rule.err(call)
	case rule != nil && rule.Mode == FailBefore:
		w.inner.Abort()
		return rule.err(call)
	}
	return finish(call, rule, func() error { return w.inner.Finish(ctx) })
}

func (w *writer) Abort() error { return w.store.run(Abort, w.name, w.inner.Abort) }

// Put implements [objstore.Store].
func (s *Store) Put(ctx context.Context, name string, data []byte) error {
	call, rule := s.enter(Put, name)
	if rule != nil && rule.Mode == Torn {
		if err := s.inner.Put(ctx, name, data[:len(data)/2]); err != nil {
			return err
		}
		return rule.err(call)
	}
	return finish(call, rule, func() error { return s.inner.Put(ctx, name, data) })
}

// PutAll implements [objstore.BatchPutter] as one Put after the other, so that
// each is an injection point and their order is the same in every run.
func (s *Store) PutAll(ctx context.Context, objects []objstore.Object) error {
	for _, o := range objects {
		if err := s.Put(ctx, o.Name, o.Data); err != nil {
			return err
		}
	}
	return nil
}

// PutIfAbsent implements [objstore.Store].
func (s *Store) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	call, rule := s.enter(PutIfAbsent, name)
	if rule != nil && rule.Mode == Torn {
		dir, base := objstore.SplitName(name)
		temp := objstore.JoinName(dir, base+"."+uuid.NewString()+".torn")
		if err := s.inner.Put(ctx, temp, data[:len(data)/2]); err != nil {
			return err
		}
		return rule.err(call)
	}
	return finish(call, rule, func() error { return s.inner.PutIfAbsent(ctx, name, data) })
}

// Stat implements [objstore.Store].
func (s *Store) Stat(ctx context.Context, name string) (objstore.Info, error) {
	var info objstore.Info
	err := s.run(Stat, name, func() (err error) {
		info, err = s.inner.Stat(ctx, name)
		return err
	})
	return info, err
}

// List implements [objstore.Store].
func (s *Store) List(ctx context.Context, dir string, fn func(objstore.Info) error) error {
	return s.list(dir, fn, func(fn func(objstore.Info) error) error { return s.inner.List(ctx, dir, fn) })
}

// ListTemp implements [objstore.TempLister] if the inner store does, and tells
// nothing otherwise.
func (s *Store) ListTemp(ctx context.Context, dir string, fn func(objstore.Info) error) error {
	return s.run(List, dir, func() error {
		if t, ok := s.inner.(objstore.TempLister); ok {
			return t.ListTemp(ctx, dir, fn)
		}
		return nil
	})
}

func (s *Store) list(dir string, fn func(objstore.Info) error, inner func(func(objstore.Info) error) error) error {
	call, rule := s.enter(List, dir)
	if rule == nil || rule.Mode != StaleList && rule.Mode != DeletedList {
		return finish(call, rule, func() error { return inner(fn) })
	}
	var all []objstore.Info
	err := inner(func(info objstore.Info) error {
		all = append(all, info)
		return nil
	})
	if err != nil {
		return err
	}
	for _, info := range s.distort(rule, dir, true, all) {
		if err := fn(info); err != nil {
			return err
		}
	}
	return nil
}

// distort makes a list wrong as a rule says.
func (s *Store) distort(rule *Rule, dir string, deep bool, all []objstore.Info) []objstore.Info {
	if rule.Mode == StaleList {
		slices.SortStableFunc(all, func(a, b objstore.Info) int { return a.ModTime.Compare(b.ModTime) })
		return all[:max(0, len(all)-rule.HideNewest)]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, info := range s.mu.deleted {
		parent, _ := objstore.SplitName(name)
		if parent == dir || deep && strings.HasPrefix(name, dir+"/") {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b objstore.Info) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b objstore.Info) bool { return a.Name == b.Name })
}

// ListDir implements [objstore.Store].
func (s *Store) ListDir(ctx context.Context, dir string) (objects []objstore.Info, dirs []string, err error) {
	call, rule := s.enter(List, dir)
	err = finish(call, rule, func() (err error) {
		objects, dirs, err = s.inner.ListDir(ctx, dir)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if rule != nil && (rule.Mode == StaleList || rule.Mode == DeletedList) {
		objects = s.distort(rule, dir, false, objects)
	}
	return objects, dirs, nil
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.run(Delete, name, func() error {
		info, statErr := s.inner.Stat(ctx, name)
		if err := s.inner.Delete(ctx, name); err != nil {
			return err
		}
		if statErr == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.mu.deleted == nil {
				s.mu.deleted = map[string]objstore.Info{}
			}
			s.mu.deleted[name] = info
		}
		return nil
	})
}

// DeleteDir implements [objstore.Store].
func (s *Store) DeleteDir(ctx context.Context, dir string) error {
	return s.run(DeleteDir, dir, func() error { return s.inner.DeleteDir(ctx, dir) })
}

// DeleteEmptyDir implements [objstore.Store].
func (s *Store) DeleteEmptyDir(ctx context.Context, dir string) error {
	return s.run(DeleteDir, dir, func() error { return s.inner.DeleteEmptyDir(ctx, dir) })
}

// RenameDir implements [objstore.Store].
func (s *Store) RenameDir(ctx context.Context, from, to string) error {
	return s.run(RenameDir, from, func() error { return s.inner.RenameDir(ctx, from, to) })
}

// MkdirAll implements [objstore.Store].
func (s *Store) MkdirAll(ctx context.Context, dir string) error {
	return s.run(MkdirAll, dir, func() error { return s.inner.MkdirAll(ctx, dir) })
}

// DirExists implements [objstore.Store].
func (s *Store) DirExists(ctx context.Context, dir string) (bool, error) {
	var ok bool
	err := s.run(DirExists, dir, func() (err error) {
		ok, err = s.inner.DirExists(ctx, dir)
		return err
	})
	return ok, err
}
