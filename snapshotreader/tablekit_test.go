package snapshotreader

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// tableKit makes tables file by file, of the shape that a test wants.
type tableKit struct {
	tb    testing.TB
	store objstore.Store
	path  string
	*paimon.Table
	last  *paimon.Snapshot
	base  []manifest.Meta
	names int
	seq   int64
}

func newTableKit(tb testing.TB, columns paimon.ColumnsSpec, options map[string]string) *tableKit {
	tb.Helper()
	return newTableKitIn(tb, memstore.New(memstore.Options{}), columns, options)
}

func newTableKitIn(tb testing.TB, store objstore.Store, columns paimon.ColumnsSpec, options map[string]string) *tableKit {
	tb.Helper()
	catalog := paimon.NewCatalog(store, "w")
	require.NoError(tb, catalog.CreateDatabase(tb.Context(), "db"))
	table, err := catalog.CreateTable(tb.Context(), "db.t", paimon.SchemaSpec{Schema: columns, Options: options})
	require.NoError(tb, err)
	return &tableKit{tb: tb, store: store, path: table.Path, Table: table}
}

// name returns a file name that is new.
func (k *tableKit) name(prefix string) string {
	k.names++
	return fmt.Sprintf("%s%08d-0", prefix, k.names)
}

// records makes records of texts such as `+I [1, "a"]`.
func (k *tableKit) records(rows ...string) *rowdata.KeyValues {
	k.tb.Helper()
	kv := rowdata.NewKeyValues(k.Schema().RowType(), len(rows))
	for _, r := range rows {
		kind, err := rowdata.ParseRowKind(r[:2])
		require.NoError(k.tb, err)
		var v any
		d := json.NewDecoder(strings.NewReader(r[3:]))
		d.UseNumber()
		require.NoError(k.tb, d.Decode(&v))
		require.NoError(k.tb, rowdata.AppendJSONRow(&kv.Batch, v))
		kv.Kinds = append(kv.Kinds, kind)
		kv.Seq = append(kv.Seq, k.seq)
		k.seq++
	}
	return kv
}

// write makes files of records, sorted by key, and returns their entries.
func (k *tableKit) write(prefix string, partition []byte, bucket, level int32, kv *rowdata.KeyValues, o datafile.Options) []manifest.Entry {
	k.tb.Helper()
	s := k.Schema()
	l := datafile.Layout{Schema: s.RowType(), SchemaID: s.ID, Key: s.TrimmedKey()}
	o.Level = level
	w := datafile.NewRollingWriter(func(ctx context.Context, name string) (datafile.Sink, error) {
		return k.store.Create(ctx, k.BucketPath(partition, int(bucket))+"/"+name)
	}, func() string { return k.name(prefix) }, l, o)
	if !s.HasPrimaryKey() {
		kv.Kinds, kv.Seq = nil, nil
	}
	require.NoError(k.tb, w.Write(k.tb.Context(), kv, 0, kv.N))
	files, err := w.Close(k.tb.Context())
	require.NoError(k.tb, err)
	entries := make([]manifest.Entry, len(files))
	for i, f := range files {
		entries[i] = manifest.Entry{Partition: partition, Bucket: bucket, TotalBuckets: int32(s.Buckets()), File: f}
	}
	return entries
}

// data writes records to a file of a level of bucket 0 of an unpartitioned table.
func (k *tableKit) data(level int32, rows ...string) []manifest.Entry {
	k.tb.Helper()
	return k.write("data-", rowdata.EmptyManifestRow(), 0, level, k.records(rows...), datafile.Options{})
}

func (k *tableKit) list(entries []manifest.Entry) (string, []manifest.Meta) {
	k.tb.Helper()
	ctx := k.tb.Context()
	var metas []manifest.Meta
	if len(entries) > 0 {
		data, err := manifest.EncodeEntries(entries, manifest.Options{})
		require.NoError(k.tb, err)
		name := k.name("manifest-")
		require.NoError(k.tb, k.store.PutIfAbsent(ctx, k.ManifestPath(name), data))
		meta, err := manifest.Summarize(name, int64(len(data)), entries, k.Schema().PartitionTypes())
		require.NoError(k.tb, err)
		metas = append(metas, meta)
	}
	return k.putList(metas), metas
}

func (k *tableKit) putList(metas []manifest.Meta) string {
	k.tb.Helper()
	data, err := manifest.EncodeList(metas, manifest.Options{})
	require.NoError(k.tb, err)
	name := k.name("manifest-list-")
	require.NoError(k.tb, k.store.PutIfAbsent(k.tb.Context(), k.ManifestPath(name), data))
	return name
}

// commit makes the next snapshot.
func (k *tableKit) commit(kind paimon.CommitKind, delta, changelog []manifest.Entry) *paimon.Snapshot {
	k.tb.Helper()
	ctx := k.tb.Context()
	s := &paimon.Snapshot{
		Version: 3, ID: 1, SchemaID: k.Schema().ID, CommitUser: "kit", CommitKind: kind,
		TimeMillis: 1_764_000_000_000 + int64(k.names),
	}
	if k.last != nil {
		s.ID = k.last.ID + 1
	}
	s.CommitIdentifier = s.ID
	s.BaseManifestList = k.putList(k.base)
	var metas []manifest.Meta
	s.DeltaManifestList, metas = k.list(delta)
	k.base = append(k.base, metas...)
	if len(changelog) > 0 {
		list, _ := k.list(changelog)
		s.ChangelogManifestList = &list
	}
	data, err := s.Marshal()
	require.NoError(k.tb, err)
	require.NoError(k.tb, k.store.PutIfAbsent(ctx, k.SnapshotPath(s.ID), data))
	k.last = s
	return s
}

// deleted turns entries into those that delete the files again.
func deleted(entries []manifest.Entry) []manifest.Entry {
	out := make([]manifest.Entry, len(entries))
	for i, e := range entries {
		e.Kind = manifest.Delete
		out[i] = e
	}
	return out
}

// tail reads the stream and returns "snapshot kind row" for each row.
func (k *tableKit) tail(start Start, o Options) []string {
	k.tb.Helper()
	t := k.tb.(*testing.T)
	o.Until = Until{Mode: UntilLatest}
	changes, err := readStream(t.Context(), t, k.Table, start, o)
	require.NoError(t, err)
	out := []string{}
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%d %s %s", c.Snapshot, c.Kind, c.Row))
	}
	return out
}
