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

// Store is a [feeds.CursorStore] in objects. It starts no goroutine.
type Store struct {
	store  objstore.Store
	folder string // of all positions
	tables map[string]func(context.Context) (*paimon.Table, error)
	now    func() time.Time

	mu    sync.Mutex
	locks map[[2]string]*consumer // by feed and name; of those that are being saved
}

var _ feeds.CursorStore = (*Store)(nil)

// consumer is what the calls of Save that run for one consumer share. The store's
// lock guards it.
type consumer struct {
	users   int           // calls
	durable feeds.Cursor  // written by one of them
	pending feeds.Cursor  // the latest that they want written; zero: none
	writing chan struct{} // closed when the write that runs has ended; nil: none runs
}

// writeTimeout bounds the writing of one position.
const writeTimeout = 30 * time.Second

// New returns a store that keeps positions below root, in .sluice/consumers, and
// consumer files in the tables of the feeds, by name. It has no consumers of other
// feeds.
func New(store objstore.Store, root string, tables map[string]func(context.Context) (*paimon.Table, error), now func() time.Time) *Store {
	return &Store{store: store, folder: objstore.JoinName(root, ".sluice/consumers"), tables: tables, now: now, locks: map[[2]string]*consumer{}}
}

// record is the content of an object.
type record struct {
	Cursor   string    `json:"cursor"`
	Snapshot int64     `json:"snapshot"` // for people: the one that the cursor names
	Time     time.Time `json:"time"`     // when it was acknowledged
}

// recordBytesMax bounds an object.
const recordBytesMax = 4 << 10

func (s *Store) feedFolder(feed string) string { return s.folder + "/" + url.PathEscape(feed) }

func (s *Store) object(feed, consumer string) string { return s.feedFolder(feed) + "/" + consumer }

// ConsumerID returns the id of the consumer file of a feed's consumer: with the
// feed's name, so that two feeds of one table do not share a file.
func ConsumerID(feed, consumer string) string {
	return "sluice-" + strings.ReplaceAll(url.PathEscape(feed), "%", "=") + "-" + consumer
}

// Load returns a consumer's position, the zero cursor if there is none.
func (s *Store) Load(ctx context.Context, feed, consumer string) (feeds.Cursor, error) {
	if err := feeds.CheckConsumer(consumer); err != nil {
		return feeds.Cursor{}, err
	}
	object := s.object(feed, consumer)
	b, err := objstore.ReadAllMax(ctx, s.store, object, recordBytesMax)
	if errors.Is(err, objstore.ErrNotExist) {
		return feeds.Cursor{}, nil
	}
	if err != nil {
		return feeds.Cursor{}, fmt.Errorf("position %s: %w", object, err)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return feeds.Cursor{}, fmt.Errorf("position %s: %w", object, err)
	}
	c, err := feeds.ParseCursor(r.Cursor)
	if err != nil {
		return feeds.Cursor{}, fmt.Errorf("position %s: %w", object, err)
	}
	return c, nil
}

// Save stores a position unless a later one is stored, and returns the stored one.
// It is durable on return, in both places. It returns a [*feeds.NotFoundError] for
// a feed that the store does not know.
func (s *Store) Save(ctx context.Context, feed, name string, c feeds.Cursor) (feeds.Cursor, error) {
	if err := feeds.CheckConsumer(name); err != nil {
		return feeds.Cursor{}, err
	}
	open := s.tables[feed]
	if open == nil {
		return feeds.Cursor{}, &feeds.NotFoundError{Kind: "feed", Name: feed}
	}
	if c.IsZero() {
		return feeds.Cursor{}, &feeds.CursorInvalidError{Reason: "it is empty"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.enter(feed, name)
	defer s.leave(feed, name, e)
	for {
		if !e.durable.IsZero() && feeds.Later(e.durable, c) == e.durable {
			return e.durable, nil
		}
		e.pending = feeds.Later(e.pending, c)
		if e.writing == nil {
			return s.lead(ctx, feed, name, e, open)
		}
		writing := e.writing
		s.mu.Unlock()
		var err error
		select {
		case <-writing:
		case <-ctx.Done():
			err = ctx.Err()
		}
		s.mu.Lock()
		if err != nil {
			return feeds.Cursor{}, err
		}
	}
}

func (s *Store) enter(feed, name string) *consumer {
	key := [2]string{feed, name}
	e := s.locks[key]
	if e == nil {
		e = &consumer{}
		s.locks[key] = e
	}
	e.users++
	return e
}

func (s *Store) leave(feed, name string, e *consumer) {
	if e.users--; e.users == 0 {
		delete(s.locks, [2]string{feed, name})
	}
}

// lead writes what all waiting calls want. The store is locked, but not while it
// writes.
func (s *Store) lead(ctx context.Context, feed, name string, e *consumer, open func(context.Context) (*paimon.Table, error)) (feeds.Cursor, error) {
	todo := e.pending
	e.pending, e.writing = feeds.Cursor{}, make(chan struct{})
	s.mu.Unlock()
	// Others wait for this write: it does not end with the caller's context.
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	stored, err := s.write(run, feed, name, todo, open)
	cancel()
	s.mu.Lock()
	if err == nil {
		e.durable = stored
	}
	close(e.writing)
	e.writing = nil
	return stored, err
}

// write makes a position durable, unless the object has a later one: another
// gateway may serve the consumer too.
func (s *Store) write(ctx context.Context, feed, name string, c feeds.Cursor, open func(context.Context) (*paimon.Table, error)) (feeds.Cursor, error) {
	stored, err := s.Load(ctx, feed, name)
	if err != nil {
		return feeds.Cursor{}, err
	}
	object := s.object(feed, name)
	if c = feeds.Later(stored, c); c != stored {
		b, err := json.Marshal(record{Cursor: c.String(), Snapshot: c.Snapshot, Time: s.now().UTC()})
		if err != nil {
			return feeds.Cursor{}, fmt.Errorf("position %s: %w", object, err)
		}
		if err := s.store.Put(ctx, object, b); err != nil {
			return feeds.Cursor{}, fmt.Errorf("position %s: %w", object, err)
		}
	}
	// Also if the position is the stored one: a crash may have come before this, and
	// expiry looks at how old the file is.
	table, err := open(ctx)
	if err != nil {
		return feeds.Cursor{}, err
	}
	if err := table.SetConsumer(ctx, ConsumerID(feed, name), c.Snapshot); err != nil {
		return feeds.Cursor{}, err
	}
	return c, nil
}

// List returns the positions of all consumers of a feed, by name.
func (s *Store) List(ctx context.Context, feed string) (map[string]feeds.Cursor, error) {
	all := map[string]feeds.Cursor{}
	infos, _, err := s.store.ListDir(ctx, s.feedFolder(feed))
	if errors.Is(err, objstore.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("positions of feed %s: %w", feed, err)
	}
	for _, info := range infos {
		_, name := objstore.SplitName(info.Name)
		if feeds.CheckConsumer(name) != nil {
			continue // not one of ours
		}
		c, err := s.Load(ctx, feed, name)
		if err != nil {
			return nil, err
		}
		if !c.IsZero() {
			all[name] = c
		}
	}
	return all, nil
}

// Delete forgets a consumer, in both places. It is no error if there is none.
func (s *Store) Delete(ctx context.Context, feed, name string) error {
	if err := feeds.CheckConsumer(name); err != nil {
		return err
	}
	open := s.tables[feed]
	if open == nil {
		return &feeds.NotFoundError{Kind: "feed", Name: feed}
	}
	// The position goes first: a consumer file that is left keeps too much, one that
	// is missing too little.
	if err := s.store.Delete(ctx, s.object(feed, name)); err != nil {
		return fmt.Errorf("position %s: %w", s.object(feed, name), err)
	}
	table, err := open(ctx)
	if err != nil {
		return err
	}
	return table.DeleteConsumer(ctx, ConsumerID(feed, name))
}
