package paimon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/objstore"
)

// MainBranch is the name of the branch that has no folder of its own.
const MainBranch = "main"

// Table is a table of a warehouse, or one of its branches. All paths that it
// returns are names in its store.
type Table struct {
	Store  objstore.Store
	Path   string // folder of the table, which branches share
	Branch string // MainBranch or a branch

	identity uint64
	opts     OpenOptions
	cache    *manifestCache
	paths    pathCache

	mu      sync.Mutex
	schema  *Schema // newest, as far as we know
	schemas map[int64]*Schema
}

// OpenOptions tune how a table is read. The zero value is right for most.
type OpenOptions struct {
	// Now tells the time; default time.Now.
	Now func() time.Time
	// Wait pauses between two tries and returns early with the error of ctx. By
	// default it waits.
	Wait func(ctx context.Context, d time.Duration) error
	// ManifestCacheBytes bounds the decoded manifests that are kept, in bytes of
	// memory; default 64 MB. Negative: keep none.
	ManifestCacheBytes int64
	// ParallelReads bounds the manifests that one call reads at a time; default 8.
	ParallelReads int
	// Location is the time zone of tag times; default time.Local.
	Location *time.Location
}

func (o OpenOptions) withDefaults() OpenOptions {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = waitTimer
	}
	if o.ManifestCacheBytes == 0 {
		o.ManifestCacheBytes = 64 << 20
	}
	if o.ParallelReads <= 0 {
		o.ParallelReads = 8
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	return o
}

func waitTimer(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Open opens the table in the folder path of the store. branch is "" or
// [MainBranch] for the table itself. [ErrTableNotFound] if there is no schema,
// [ErrBranchNotFound] if only the branch has none.
func Open(ctx context.Context, store objstore.Store, path, branch string) (*Table, error) {
	return OpenWith(ctx, store, path, branch, OpenOptions{})
}

// OpenWith is [Open] with options.
func OpenWith(ctx context.Context, store objstore.Store, path, branch string, o OpenOptions) (*Table, error) {
	o = o.withDefaults()
	t := newTable(store, path, branch, o, newManifestCache(o.ManifestCacheBytes))
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

func newTable(store objstore.Store, path, branch string, o OpenOptions, cache *manifestCache) *Table {
	if branch == "" {
		branch = MainBranch
	}
	return &Table{
		Store: store, Path: strings.TrimRight(path, "/"), Branch: branch,
		opts: o, cache: cache, schemas: make(map[int64]*Schema),
	}
}

// load reads the newest schema and the table's identity.
func (t *Table) load(ctx context.Context) error {
	if t.Branch != MainBranch {
		ok, err := t.hasBranch(ctx, t.Branch)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("table %s: branch %s: %w", t.Path, t.Branch, ErrBranchNotFound)
		}
	}
	if _, err := t.ReloadSchema(ctx); err != nil {
		if errors.Is(err, ErrSchemaNotFound) {
			return fmt.Errorf("table %s: %w", t.Path, ErrTableNotFound)
		}
		return err
	}
	var err error
	t.identity, err = t.CurrentIdentity(ctx)
	return err
}

// OpenBranch opens another branch of the same table.
func (t *Table) OpenBranch(ctx context.Context, branch string) (*Table, error) {
	b := newTable(t.Store, t.Path, branch, t.opts, t.cache)
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Schema returns the newest schema as of Open or the last ReloadSchema.
func (t *Table) Schema() *Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.schema
}

// Options returns the options of the newest schema known.
func (t *Table) Options() Options { return t.Schema().Options }

// ReloadSchema finds the newest schema and returns it.
func (t *Table) ReloadSchema(ctx context.Context) (*Schema, error) {
	return t.reloadSchema(ctx, false)
}

// reloadSchema finds the newest schema. replaced: versions that are in memory
// may have been replaced on storage and are forgotten.
func (t *Table) reloadSchema(ctx context.Context, replaced bool) (*Schema, error) {
	if replaced {
		t.mu.Lock()
		clear(t.schemas)
		t.mu.Unlock()
	}
	ids, err := t.SchemaIDs(ctx)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("table %s: %w", t.Path, ErrSchemaNotFound)
	}
	s, err := t.SchemaByID(ctx, ids[len(ids)-1])
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.schema == nil || s.ID > t.schema.ID || replaced {
		t.schema = s
		t.paths.use(s)
	}
	return t.schema, nil
}

// SchemaIDs lists the schema versions in ascending order.
func (t *Table) SchemaIDs(ctx context.Context) ([]int64, error) {
	return listVersions(ctx, t.Store, t.branchDir()+"/schema", "schema-")
}

// SchemaByID returns one version of the schema. Versions are kept in memory,
// since they never change. [ErrSchemaNotFound].
func (t *Table) SchemaByID(ctx context.Context, id int64) (*Schema, error) {
	t.mu.Lock()
	s := t.schemas[id]
	t.mu.Unlock()
	if s != nil {
		return s, nil
	}
	name := t.SchemaPath(id)
	data, err := objstore.ReadAllMax(ctx, t.Store, name, metadataMaxBytes)
	if err != nil {
		if errors.Is(err, objstore.ErrNotExist) {
			return nil, fmt.Errorf("schema %d of table %s: %w: %w", id, t.Path, ErrSchemaNotFound, err)
		}
		return nil, fmt.Errorf("schema %d of table %s: %w", id, t.Path, err)
	}
	s, err = ParseSchema(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("read %s: id is %d: %w", name, s.ID, ErrCorrupt)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.schemas[id] = s
	return s, nil
}

// Identity returns a number that two tables do not share, not even if one was
// dropped and another created in its place: the hash of the first schema file,
// which holds the time of creation. Branches have the identity of their table.
func (t *Table) Identity() uint64 { return t.identity }

// CurrentIdentity reads the identity anew, to find out whether the table is
// still the one that was opened. [ErrTableNotFound] if it was dropped.
func (t *Table) CurrentIdentity(ctx context.Context) (uint64, error) {
	name := t.Path + "/schema/schema-0"
	data, err := objstore.ReadAllMax(ctx, t.Store, name, metadataMaxBytes)
	if errors.Is(err, objstore.ErrNotExist) {
		ids, lerr := listVersions(ctx, t.Store, t.Path+"/schema", "schema-")
		if lerr != nil {
			return 0, lerr
		}
		if len(ids) == 0 {
			return 0, fmt.Errorf("table %s: %w", t.Path, ErrTableNotFound)
		}
		name = t.Path + "/schema/schema-" + strconv.FormatInt(ids[0], 10)
		data, err = objstore.ReadAllMax(ctx, t.Store, name, metadataMaxBytes)
	}
	if err != nil {
		return 0, fmt.Errorf("identity of table %s: %w", t.Path, err)
	}
	h := fnv.New64a()
	h.Write(data)
	return h.Sum64(), nil
}

// createObject creates an object that must not exist yet: [objstore.ErrExists].
// If the answer of the store was lost, the object is read back to find out.
func createObject(ctx context.Context, store objstore.Store, name string, data []byte) error {
	err := store.PutIfAbsent(ctx, name, data)
	if err == nil || errors.Is(err, objstore.ErrExists) {
		return err
	}
	if got, rerr := objstore.ReadAllMax(ctx, store, name, metadataMaxBytes); rerr == nil && bytes.Equal(got, data) {
		return nil
	}
	return fmt.Errorf("create %s: %w", name, err)
}

// metadataMaxBytes bounds the JSON files that are read.
const metadataMaxBytes = 64 << 20

// listVersions returns the numbers of the objects directly in dir whose name is
// the prefix and a decimal number, in ascending order. Everything else there,
// such as hint files and leftovers of writers, is not a version.
func listVersions(ctx context.Context, store objstore.Store, dir, prefix string) ([]int64, error) {
	objects, _, err := store.ListDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var ids []int64
	for _, o := range objects {
		_, base := objstore.SplitName(o.Name)
		if id, ok := parseVersion(base, prefix); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// parseVersion reads the number of a name that is prefix and digits, in its only
// canonical form.
func parseVersion(base, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(base, prefix)
	if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil
}
