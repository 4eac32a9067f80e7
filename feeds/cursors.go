package feeds

import (
	"context"
	"sync"
)

// CursorStore keeps the positions of named consumers.
type CursorStore interface {
	// Load returns a consumer's position, the zero cursor if there is none.
	Load(ctx context.Context, feed, consumer string) (Cursor, error)
	// Save stores a position unless a later one of the same table is stored, and
	// returns the stored one. It is durable on return.
	Save(ctx context.Context, feed, consumer string, c Cursor) (Cursor, error)
	// List returns the positions of all consumers of a feed, by name.
	List(ctx context.Context, feed string) (map[string]Cursor, error)
	// Delete forgets a consumer. It is no error if there is none.
	Delete(ctx context.Context, feed, consumer string) error
}

// Ack stores c as the position of a named consumer and returns the stored one: c
// or a later one. It is durable on return.
func (f *Feed) Ack(ctx context.Context, consumer string, c Cursor) (Cursor, error) {
	if f.cursors == nil {
		return Cursor{}, &RequestError{Field: "consumer", Why: "this gateway keeps no positions of consumers"}
	}
	if err := CheckConsumer(consumer); err != nil {
		return Cursor{}, err
	}
	if c.IsZero() {
		return Cursor{}, &CursorInvalidError{Reason: "it is empty"}
	}
	f.c.acks.Add(1)
	return f.cursors.Save(ctx, f.name, consumer, c)
}

// Memory is a [CursorStore] that forgets when the process ends.
type Memory struct {
	mu  sync.Mutex
	pos map[[2]string]Cursor // by feed and consumer
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{pos: map[[2]string]Cursor{}} }

// Load returns a consumer's position.
func (m *Memory) Load(_ context.Context, feed, consumer string) (Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pos[[2]string{feed, consumer}], nil
}

// Save stores a position, in memory only.
func (m *Memory) Save(_ context.Context, feed, consumer string, c Cursor) (Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{feed, consumer}
	m.pos[key] = Later(m.pos[key], c)
	return m.pos[key], nil
}

// List returns the positions of all consumers of a feed.
func (m *Memory) List(_ context.Context, feed string) (map[string]Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]Cursor{}
	for key, c := range m.pos {
		if key[0] == feed {
			all[key[1]] = c
		}
	}
	return all, nil
}

// Delete forgets a consumer.
func (m *Memory) Delete(_ context.Context, feed, consumer string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pos, [2]string{feed, consumer})
	return nil
}

// Later returns the later of a stored position and a new one: an old
// acknowledgement that comes late changes nothing. A position in another
// incarnation of the table, or in another branch, replaces the stored one.
func Later(stored, c Cursor) Cursor {
	if stored.IsZero() || stored.Table != c.Table || stored.Branch != c.Branch || c.Compare(stored) > 0 {
		return c
	}
	return stored
}
