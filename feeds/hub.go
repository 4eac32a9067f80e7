package feeds

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Hub has the feeds of a gateway.
type Hub struct {
	opts Options

	mu       sync.Mutex
	feeds    map[string]*Feed
	closed   bool
	draining bool
}

// NewHub returns a hub without feeds. Close ends it.
func NewHub(o Options) (*Hub, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Hub{opts: o.withDefaults(), feeds: map[string]*Feed{}}, nil
}

// Add adds a feed of a table. cursors keeps the positions of named consumers;
// nil: there are none.
func (h *Hub) Add(name string, t Table, cursors CursorStore) (*Feed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if name == "" || h.feeds[name] != nil {
		return nil, fmt.Errorf("feed %q: the name is empty or taken", name)
	}
	f := newFeed(name, t, cursors, h.opts)
	f.draining = h.draining
	h.feeds[name] = f
	return f, nil
}

// Remove ends a feed and its subscriptions. It waits for the tail.
func (h *Hub) Remove(name string) error {
	h.mu.Lock()
	f := h.feeds[name]
	delete(h.feeds, name)
	h.mu.Unlock()
	if f == nil {
		return &NotFoundError{Kind: "feed", Name: name}
	}
	f.close()
	return nil
}

// Feed returns the feed of that name, or a [*NotFoundError].
func (h *Hub) Feed(name string) (*Feed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[name]; f != nil {
		return f, nil
	}
	return nil, &NotFoundError{Kind: "feed", Name: name}
}

// Feeds returns all feeds by name.
func (h *Hub) Feeds() []*Feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.feeds), func(a, b *Feed) int { return cmp.Compare(a.name, b.name) })
}

// Subscribe subscribes to the feed that the request names. When it returns, the
// position is fixed. The subscription must be closed. See [Feed.Subscribe].
func (h *Hub) Subscribe(ctx context.Context, r Request) (*Subscription, error) {
	f, err := h.Feed(r.Feed)
	if err != nil {
		return nil, err
	}
	return f.Subscribe(ctx, r)
}

// Drain asks all subscribers to connect again elsewhere: each subscription's
// next frame is a reconnect with its cursor, and then comes [ErrDraining]. New
// subscriptions are refused. It does not wait.
func (h *Hub) Drain() {
	h.mu.Lock()
	h.draining = true
	all := slices.Collect(maps.Values(h.feeds))
	h.mu.Unlock()
	for _, f := range all {
		f.drain()
	}
}

// Draining tells whether Drain was called.
func (h *Hub) Draining() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// Close ends all feeds and waits for their tails. Subscriptions get [ErrClosed];
// their owners still close them.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	all := slices.Collect(maps.Values(h.feeds))
	h.mu.Unlock()
	for _, f := range all {
		f.close()
	}
	return nil
}
