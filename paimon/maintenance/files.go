package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/tablefile"
)

// parallelDeletes bounds the files that are deleted at a time.
const parallelDeletes = 8

// nameSet is a set of names of objects.
type nameSet map[string]struct{}

func (s nameSet) add(name string)      { s[name] = struct{}{} }
func (s nameSet) spare(name string)    { delete(s, name) }
func (s nameSet) has(name string) bool { _, ok := s[name]; return ok }

func (s nameSet) sorted() []string {
	names := make([]string, 0, len(s))
	for n := range s {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// eachFile calls fn for the files that are there for an entry: the data or
// changelog file and its sidecars.
func eachFile(t *paimon.Table, e *manifest.Entry, fn func(name string)) {
	fn(tablefile.Path(t, e))
	for _, extra := range e.File.ExtraFiles {
		fn(t.SidecarPath(e, extra))
	}
}

// parts are the pieces of metadata that a snapshot refers to.
type parts uint8

const (
	partBase parts = 1 << iota
	partDelta
	partChangelog
	partIndex
	partStatistics

	partState = partBase | partDelta | partIndex | partStatistics // what a tag keeps
	partAll   = partState | partChangelog
)

// Which pieces may be missing, in what is read of a snapshot.
const (
	// strict: a snapshot that was restored from a tag has lost its changelog, and
	// nothing is to be found through a list that is not there.
	strict = partChangelog
	// remains: of what is to be deleted an earlier run may have deleted anything.
	remains = partAll
)

// metaFile is a file of metadata.
type metaFile struct {
	name string
	list bool // it names others: a manifest list or an index manifest
}

// eachMeta calls fn for the files of metadata that a snapshot refers to: lists,
// manifests, index manifest, index files, statistics. What is missing is an
// error but for the parts that may be: then what they would refer to is left out.
func eachMeta(ctx context.Context, t *paimon.Table, s *paimon.Snapshot, which, missing parts, fn func(metaFile)) error {
	lists := map[parts]string{partBase: s.BaseManifestList, partDelta: s.DeltaManifestList}
	if s.HasChangelog() {
		lists[partChangelog] = *s.ChangelogManifestList
	}
	for part, list := range lists {
		if which&part == 0 {
			continue
		}
		fn(metaFile{t.ManifestPath(list), true})
		metas, err := t.ManifestList(ctx, list)
		if err != nil && !(missing&part != 0 && errors.Is(err, objstore.ErrNotExist)) {
			return fmt.Errorf("snapshot %d of table %s: %w", s.ID, t.Path, err)
		}
		for i := range metas {
			fn(metaFile{t.ManifestPath(metas[i].FileName), false})
		}
	}
	if which&partIndex != 0 && s.IndexManifest != nil {
		fn(metaFile{t.ManifestPath(*s.IndexManifest), true})
		entries, err := t.IndexEntries(ctx, s)
		if err != nil && !(missing&partIndex != 0 && errors.Is(err, objstore.ErrNotExist)) {
			return err
		}
		for i := range entries {
			fn(metaFile{t.IndexPath(&entries[i]), false})
		}
	}
	if which&partStatistics != 0 && s.Statistics != nil {
		fn(metaFile{t.StatisticsPath(*s.Statistics), false})
	}
	return nil
}

// eachLive calls fn for the files of the data files of a snapshot's state.
func eachLive(ctx context.Context, t *paimon.Table, s *paimon.Snapshot, fn func(name string)) error {
	live, err := t.LiveEntries(ctx, s, paimon.Filter{})
	if err != nil {
		return err
	}
	for i := range live {
		eachFile(t, &live[i], fn)
	}
	return nil
}

// eachAdded calls fn for the files that entries add.
func eachAdded(t *paimon.Table, entries []manifest.Entry, fn func(name string)) {
	for i := range entries {
		if entries[i].Kind == manifest.Add {
			eachFile(t, &entries[i], fn)
		}
	}
}

// fromAppend tells whether a file may have been written by a writer, not by a
// compaction: the changelog of tables without a producer is made of these.
func fromAppend(f *manifest.DataFile) bool {
	return f.Source == nil || *f.Source == manifest.SourceAppend
}

// deleteAll deletes files, some at a time and in no order: where one must outlive
// another, they go in two calls.
func deleteAll(ctx context.Context, store objstore.Store, names []string) error {
	var (
		wg    sync.WaitGroup
		queue = make(chan string)
		errs  = make([]error, min(parallelDeletes, len(names)))
	)
	for i := range errs {
		wg.Go(func() {
			for name := range queue {
				if errs[i] == nil {
					if err := store.Delete(ctx, name); err != nil {
						errs[i] = fmt.Errorf("delete %s: %w", name, err)
					}
				}
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	wg.Wait()
	return errors.Join(errs...)
}
