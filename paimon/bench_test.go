package paimon

import (
	"fmt"
	"testing"
	"time"

	"sluice/objstore/memstore"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// benchTable has one snapshot of so many files in manifests of 1,000 entries.
func benchTable(b *testing.B, files int) (*Table, *Snapshot) {
	b.Helper()
	ctx := b.Context()
	catalog := NewCatalog(memstore.New(memstore.Options{}), "wh")
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	fail(catalog.CreateDatabase(ctx, "db"))
	t, err := catalog.CreateTable(ctx, "db.t", kvSpec())
	fail(err)
	put := func(name string, data []byte, err error) {
		fail(err)
		fail(t.Store.Put(ctx, name, data))
	}
	var metas []manifest.Meta
	source := manifest.SourceAppend
	for from := 0; from < files; from += 1000 {
		entries := make([]manifest.Entry, min(1000, files-from))
		for i := range entries {
			entries[i] = manifest.Entry{Partition: rowdata.EmptyManifestRow(), TotalBuckets: 1, File: manifest.DataFile{
				FileName: fmt.Sprintf("data-0c1e5f7a-93d1-4c2b-8d5e-5b1f0a3c7e11-%d.parquet", from+i), FileSize: 1 << 20, RowCount: 1000,
				MinKey: rowdata.EmptyManifestRow(), MaxKey: rowdata.EmptyManifestRow(), Source: &source,
			}}
		}
		name := fmt.Sprintf("manifest-%d", from)
		data, err := manifest.EncodeEntries(entries, manifest.Options{Compression: "zstd"})
		put(t.ManifestPath(name), data, err)
		m, err := manifest.Summarize(name, int64(len(data)), entries, nil)
		fail(err)
		metas = append(metas, m)
	}
	s := &Snapshot{Version: SnapshotVersion, ID: 1, BaseManifestList: "base", DeltaManifestList: "delta", CommitUser: "u", CommitKind: CommitAppend, TimeMillis: time.Now().UnixMilli()}
	data, err := manifest.EncodeList(metas, manifest.Options{Compression: "zstd"})
	put(t.ManifestPath("base"), data, err)
	data, err = manifest.EncodeList(nil, manifest.Options{Compression: "zstd"})
	put(t.ManifestPath("delta"), data, err)
	data, err = s.Marshal()
	put(t.SnapshotPath(1), data, err)
	return t, s
}

func BenchmarkTableLiveEntries(b *testing.B) {
	for _, cached := range []bool{false, true} {
		b.Run(fmt.Sprintf("files=10000/cached=%t", cached), func(b *testing.B) {
			t, s := benchTable(b, 10_000)
			if !cached {
				t.cache = newManifestCache(-1)
			}
			b.ReportAllocs()
			for b.Loop() {
				live, err := t.LiveEntries(b.Context(), s, Filter{})
				if err != nil || len(live) != 10_000 {
					b.Fatal(len(live), err)
				}
			}
		})
	}
}

func BenchmarkTableLatestSnapshot(b *testing.B) {
	t, _ := benchTable(b, 1)
	if err := t.WriteLatestHint(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.LatestSnapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshotParse(b *testing.B) {
	data, err := fullSnapshot().Marshal()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseSnapshot(data); err != nil {
			b.Fatal(err)
		}
	}
}
