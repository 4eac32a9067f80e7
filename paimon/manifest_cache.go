package paimon

import (
	"container/list"
	"sync"
)

// manifestCache keeps decoded manifests, lists and index manifests, which never
// change once written. It is bounded by the memory they take; those not used for
// longest go first. Tailers and scanners of a table read the same files.
type manifestCache struct {
	maxBytes int64

	mu    sync.Mutex
	bytes int64
	order list.List // of *cachedFile, most recently used first
	files map[string]*list.Element
}

type cachedFile struct {
	name  string
	value any
	bytes int64
}

func newManifestCache(maxBytes int64) *manifestCache {
	return &manifestCache{maxBytes: maxBytes, files: make(map[string]*list.Element)}
}

func (c *manifestCache) get(name string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.files[name]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedFile).value
}

// put keeps a value that takes about so many bytes. What would fill the cache
// alone is not kept.
func (c *manifestCache) put(name string, value any, bytes int64) {
	if c.maxBytes <= 0 || bytes > c.maxBytes/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.files[name]; e != nil {
		c.order.MoveToFront(e)
		return
	}
	c.files[name] = c.order.PushFront(&cachedFile{name: name, value: value, bytes: bytes})
	c.bytes += bytes
	for c.bytes > c.maxBytes {
		last := c.order.Back()
		f := c.order.Remove(last).(*cachedFile)
		delete(c.files, f.name)
		c.bytes -= f.bytes
	}
}
