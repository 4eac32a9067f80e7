package commit

import (
	"context"

	"sluice/paimon/manifest"
)

const (
	recentMax        = 200    // manifests that are remembered
	recentEntriesMax = 20_000 // entries in them
)

// recentManifests are the small manifests that the committer wrote last. They
// are the ones that will be merged, and need not be read for it.
type recentManifests struct {
	names   []string // oldest first
	entries map[string][]manifest.Entry
	count   int
}

// keep remembers a delta, unless it is more than one manifest or alone as large
// as all may be.
func (r *recentManifests) keep(metas []manifest.Meta, entries []manifest.Entry) {
	if len(metas) != 1 || len(entries) > recentEntriesMax/4 {
		return
	}
	if r.entries == nil {
		r.entries = map[string][]manifest.Entry{}
	}
	name := metas[0].FileName
	r.names = append(r.names, name)
	r.entries[name] = entries
	r.count += len(entries)
	for len(r.names) > recentMax || r.count > recentEntriesMax {
		oldest := r.names[0]
		r.names = r.names[1:]
		r.count -= len(r.entries[oldest])
		delete(r.entries, oldest)
	}
}

// manifest returns the entries of a manifest. They are not to be changed.
func (c *Committer) manifest(ctx context.Context, name string) ([]manifest.Entry, error) {
	if entries, ok := c.recent.entries[name]; ok {
		return entries, nil
	}
	return c.table.ReadManifest(ctx, name)
}
