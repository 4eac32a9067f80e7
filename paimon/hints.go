package paimon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/objstore"
)

const (
	hintLatest   = "LATEST"
	hintEarliest = "EARLIEST"

	hintTries       = 3
	hintPause       = time.Millisecond
	hintMaxBytes    = 64
	parseTries      = 10
	parsePause      = 200 * time.Millisecond
	earliestForward = 300 // ids that a lookup of the earliest walks while expiration runs
	latestForward   = 16  // ids that a lookup of the latest walks before it lists the folder
)

// versions is a folder of numbered JSON files with hint files: snapshot/ or
// changelog/.
type versions struct {
	t      *Table
	dir    string
	prefix string
}

func (v versions) path(id int64) string { return v.dir + "/" + v.prefix + strconv.FormatInt(id, 10) }

func (v versions) exists(ctx context.Context, id int64) (bool, error) {
	ok, err := objstore.Exists(ctx, v.t.Store, v.path(id))
	if err != nil {
		return false, fmt.Errorf("stat %s: %w", v.path(id), err)
	}
	return ok, nil
}

func (v versions) list(ctx context.Context) ([]int64, error) {
	return listVersions(ctx, v.t.Store, v.dir, v.prefix)
}

// hint reads a hint file; 0 means that there is no hint. A hint is overwritten
// in place, so what cannot be read is tried again and then is no hint.
func (v versions) hint(ctx context.Context, name string) (int64, error) {
	for try := range hintTries {
		if try > 0 {
			if err := v.t.opts.Wait(ctx, hintPause); err != nil {
				return 0, err
			}
		}
		data, err := objstore.ReadAllMax(ctx, v.t.Store, v.dir+"/"+name, hintMaxBytes)
		if errors.Is(err, objstore.ErrNotExist) {
			return 0, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err != nil {
			continue
		}
		if id, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && id > 0 {
			return id, nil
		}
	}
	return 0, nil
}

// latest returns the largest number, or 0 (format section 3.4). The hint is
// believed if no number follows it, and so is one a few numbers behind, as it is
// while others commit; it may be stale, or point beyond the newest, in which case
// there is no version of the number that is returned.
func (v versions) latest(ctx context.Context) (int64, error) {
	n, err := v.hint(ctx, hintLatest)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		for end := n + latestForward; n < end; n++ {
			next, err := v.exists(ctx, n+1)
			if err != nil {
				return 0, err
			}
			if !next {
				return n, nil
			}
		}
	}
	return v.latestByListing(ctx)
}

// latestByListing does not trust the hint. A listing may be older than the
// newest file, so it looks for successors of what it found.
func (v versions) latestByListing(ctx context.Context) (int64, error) {
	ids, err := v.list(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	n := ids[len(ids)-1]
	for {
		next, err := v.exists(ctx, n+1)
		if err != nil || !next {
			return n, err
		}
		n++
	}
}

// earliest returns the smallest number, or 0.
func (v versions) earliest(ctx context.Context) (int64, error) {
	n, err := v.hint(ctx, hintEarliest)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		ok, err := v.exists(ctx, n)
		if err != nil {
			return 0, err
		}
		if ok {
			return n, nil
		}
	}
	ids, err := v.list(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// read reads one version. JSON that does not parse is read again for a while:
// on some file systems a reader may see a file before its content.
func (v versions) read(ctx context.Context, id int64) (*Snapshot, error) {
	name := v.path(id)
	s, err := readParsed(ctx, v.t, name, ParseSnapshot)
	if err != nil {
		return nil, err
	}
	if s.ID != id {
		return nil, fmt.Errorf("read %s: id is %d: %w", name, s.ID, ErrCorrupt)
	}
	return s, nil
}

// writeHint replaces a hint file. Readers can do without.
func (v versions) writeHint(ctx context.Context, name string, id int64) error {
	if err := objstore.PutHint(ctx, v.t.Store, v.dir+"/"+name, strconv.AppendInt(nil, id, 10)); err != nil {
		return fmt.Errorf("write %s/%s: %w", v.dir, name, err)
	}
	return nil
}

// readParsed reads and parses a metadata file, and tries again while it does
// not parse.
func readParsed[T any](ctx context.Context, t *Table, name string, parse func([]byte) (T, error)) (T, error) {
	var zero T
	for try := 1; ; try++ {
		data, err := objstore.ReadAllMax(ctx, t.Store, name, metadataMaxBytes)
		if err != nil {
			return zero, err
		}
		v, err := parse(data)
		if err == nil {
			return v, nil
		}
		if try == parseTries {
			return zero, fmt.Errorf("read %s: %w", name, err)
		}
		if err := t.opts.Wait(ctx, parsePause); err != nil {
			return zero, err
		}
	}
}

// WriteLatestHint says which snapshot is the newest. Readers find it without, and
// a hint that is behind does no harm; one that is beyond the newest must be
// corrected.
func (t *Table) WriteLatestHint(ctx context.Context, id int64) error {
	return t.snapshotFiles().writeHint(ctx, hintLatest, id)
}

// WriteEarliestHint says which snapshot is the oldest. ifMissing leaves a hint
// that is there as it is.
func (t *Table) WriteEarliestHint(ctx context.Context, id int64, ifMissing bool) error {
	files := t.snapshotFiles()
	if ifMissing {
		hint, err := files.hint(ctx, hintEarliest)
		if err != nil || hint > 0 {
			return err
		}
	}
	return files.writeHint(ctx, hintEarliest, id)
}

// UpdateChangelogHints makes the hints of the long-lived changelogs say what
// there is, or removes them if nothing is.
func (t *Table) UpdateChangelogHints(ctx context.Context) error {
	files := t.changelogFiles()
	ids, err := files.list(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		for _, name := range []string{hintLatest, hintEarliest} {
			if err := t.Store.Delete(ctx, files.dir+"/"+name); err != nil {
				return fmt.Errorf("delete %s/%s: %w", files.dir, name, err)
			}
		}
		return nil
	}
	if err := files.writeHint(ctx, hintLatest, ids[len(ids)-1]); err != nil {
		return err
	}
	return files.writeHint(ctx, hintEarliest, ids[0])
}
