package cursorstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/feeds"
	"sluice/objstore"
	"sluice/paimon"
)

// Store is a [feeds.CursorStore] in a warehouse.
type Store struct {
	store  objstore.Store
	folder string
	tables map[string]func(context.Context) (*paimon.Table, error)
	now    func() time.Time

	mu     sync.Mutex
	locks  map[string]*lock // of consumers being saved
	pinned map[string]int64 // next snapshot in the table's consumer file, as far as known
}

var _ feeds.CursorStore = (*Store)(nil)

type lock struct {
	sync.Mutex
	users int
}

// New returns a store below the folder of a warehouse. tables opens the table of
// each feed.
func New(store objstore.Store, warehouse string, tables map[string]func(context.Context) (*paimon.Table, error), now func() time.Time) *Store {
	return &Store{
		store: store, folder: objstore.JoinName(warehouse, ".sluice/consumers"), tables: tables, now: now,
		locks: map[string]*lock{}, pinned: map[string]int64{},
	}
}

// document is what is stored of a consumer.
type document struct {
	Cursor     string `json:"cursor"`
	Snapshot   int64  `json:"snapshot"` // for people: the cursor says it too
	TimeMillis int64  `json:"timeMillis"`
}

// name returns the object of a consumer. Feeds have dots and may have anything
// else in their names, so they are escaped.
func (s *Store) name(feed, consumer string) string {
	return s.folder + "/" + url.PathEscape(feed) + "/" + url.PathEscape(consumer)
}

// Load implements [feeds.CursorStore].
func (s *Store) Load(ctx context.Context, feed, consumer string) (feeds.Cursor, error) {
	data, err := objstore.ReadAll(ctx, s.store, s.name(feed, consumer))
	if errors.Is(err, objstore.ErrNotExist) {
		return feeds.Cursor{}, nil
	}
	if err != nil {
		return feeds.Cursor{}, fmt.Errorf("consumer %s of feed %s: %w", consumer, feed, err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return feeds.Cursor{}, fmt.Errorf("consumer %s of feed %s: file %s: %w", consumer, feed, s.name(feed, consumer), err)
	}
	c, err := feeds.ParseCursor(d.Cursor)
	if err != nil {
		return feeds.Cursor{}, fmt.Errorf("consumer %s of feed %s: file %s: %w", consumer, feed, s.name(feed, consumer), err)
	}
	return c, nil
}

// acquire locks a consumer among the callers of this process.
func (s *Store) acquire(key string) (release func()) {
	s.mu.Lock()
	l := s.locks[key]
	if l == nil {
		l = &lock{}
		s.locks[key] = l
	}
	l.users++
	s.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.mu.Lock()
		if l.users--; l.users == 0 {
			delete(s.locks, key)
		}
		s.mu.Unlock()
	}
}

// Save implements [feeds.CursorStore].
func (s *Store) Save(ctx context.Context, feed, consumer string, c feeds.Cursor) (feeds.Cursor, error) {
	name := s.name(feed, consumer)
	defer s.acquire(name)()
	stored, err := s.Load(ctx, feed, consumer)
	if err != nil {
		return feeds.Cursor{}, err
	}
	later := c
	if !stored.IsZero() {
		later = feeds.Later(stored, c)
	}
	if later != stored {
		data, err := json.Marshal(document{Cursor: later.String(), Snapshot: later.Snapshot, TimeMillis: s.now().UnixMilli()})
		if err != nil {
			return feeds.Cursor{}, err
		}
		if err := s.store.Put(ctx, name, data); err != nil {
			return feeds.Cursor{}, fmt.Errorf("store consumer %s of feed %s: %w", consumer, feed, err)
		}
	}
	return later, s.pin(ctx, feed, consumer, later.Snapshot)
}

// consumerID names the table's consumer file.
func consumerID(feed, consumer string) string {
	return "sluice-" + strings.ReplaceAll(url.PathEscape(feed)+"-"+url.PathEscape(consumer), "%", "=")
}

// pin tells the table which snapshot is needed next.
func (s *Store) pin(ctx context.Context, feed, consumer string, next int64) error {
	id := consumerID(feed, consumer)
	s.mu.Lock()
	known := s.pinned[id]
	s.mu.Unlock()
	if known == next {
		return nil
	}
	t, err := s.table(ctx, feed)
	if err != nil {
		return err
	}
	if err := t.SetConsumer(ctx, id, next); err != nil {
		return fmt.Errorf("consumer file of %s: %w", consumer, err)
	}
	s.mu.Lock()
	s.pinned[id] = next
	s.mu.Unlock()
	return nil
}

func (s *Store) table(ctx context.Context, feed string) (*paimon.Table, error) {
	open := s.tables[feed]
	if open == nil {
		return nil, &feeds.NotFoundError{Kind: "feed", Name: feed}
	}
	return open(ctx)
}

// List implements [feeds.CursorStore].
func (s *Store) List(ctx context.Context, feed string) (map[string]feeds.Cursor, error) {
	objects, _, err := s.store.ListDir(ctx, s.folder+"/"+url.PathEscape(feed))
	if err != nil {
		return nil, fmt.Errorf("consumers of feed %s: %w", feed, err)
	}
	all := map[string]feeds.Cursor{}
	for _, o := range objects {
		_, base := objstore.SplitName(o.Name)
		consumer, err := url.PathUnescape(base)
		if err != nil {
			continue // not one of ours
		}
		c, err := s.Load(ctx, feed, consumer)
		if err != nil {
			return nil, err
		}
		if !c.IsZero() {
			all[consumer] = c
		}
	}
	return all, nil
}

// Delete implements [feeds.CursorStore].
func (s *Store) Delete(ctx context.Context, feed, consumer string) error {
	name := s.name(feed, consumer)
	defer s.acquire(name)()
	if err := s.store.Delete(ctx, name); err != nil {
		return fmt.Errorf("forget consumer %s of feed %s: %w", consumer, feed, err)
	}
	t, err := s.table(ctx, feed)
	if err != nil {
		return err
	}
	id := consumerID(feed, consumer)
	s.mu.Lock()
	delete(s.pinned, id)
	s.mu.Unlock()
	if err := t.DeleteConsumer(ctx, id); err != nil && !errors.Is(err, paimon.ErrConsumerNotFound) {
		return fmt.Errorf("consumer file of %s: %w", consumer, err)
	}
	return nil
}
