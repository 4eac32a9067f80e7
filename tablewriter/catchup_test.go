package tablewriter

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/tablefile"
)

// TestCatchUpOverPackedChangelogs: the changelog files of a snapshot that an index
// has missed may have been packed into one file in the folder of one bucket since
// (format section 10.3). The index of each bucket finds its part.
func TestCatchUpOverPackedChangelogs(t *testing.T) {
	for _, straightOff := range []bool{false, true} {
		t.Run(fmt.Sprint("straightOff=", straightOff), func(t *testing.T) {
			store := memory()
			table := newTable(t, store, usual("bucket", "2", "changelog-producer", "lookup"))
			s := &script{table: table, options: Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: straightOff}}
			rows := func(kind, value string, from, to int) (text string) {
				for k := from; k < to; k++ {
					text += fmt.Sprintf(", %s %d %s", kind, k, value)
				}
				return text
			}
			commit := func(text string) {
				s.write(t, text[2:])
				_, err := s.w.Commit(t.Context())
				require.NoError(t, err)
			}
			s.w = openWriter(t, table, s.options)
			commit(rows("+I", "a", 0, 30))
			require.NoError(t, s.w.Close(t.Context()))

			s.options.beforeIndex = func() bool { return false }
			s.w = openWriter(t, table, s.options)
			commit(rows("+I", "b", 0, 10) + rows("-D", "a", 10, 20) + rows("+I", "b", 30, 40))
			require.NoError(t, s.w.Close(t.Context()))
			last, err := table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			before := changelog(t, table, last.ID)
			packChangelog(t, store, table, last)

			s.table = openTable(t, store)
			require.Equal(t, before, changelog(t, s.table, last.ID))
			s.options.beforeIndex = nil
			s.w = openWriter(t, s.table, s.options)
			commit(rows("+I", "c", 0, 40))
			m := s.w.Metrics()
			require.Equal(t, []int64{2, 0, 0}, []int64{m.IndexCatchUps, m.IndexRebuilds, m.IndexErrors})
			last, err = s.table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			var want []string
			for k := range 40 {
				was := map[bool]string{true: "b", false: "a"}[k < 10 || k >= 30]
				if k >= 10 && k < 20 {
					want = append(want, fmt.Sprintf(`+I [%d,"c"]`, k))
					continue
				}
				want = append(want, fmt.Sprintf(`-U [%d,"%s"]`, k, was), fmt.Sprintf(`+U [%d,"c"]`, k))
			}
			require.ElementsMatch(t, want, changelog(t, s.table, last.ID))
			require.NoError(t, s.w.Close(t.Context()))
		})
	}
}

// packChangelog moves the changelog files of a snapshot into one file, in the
// folder of the first one's bucket, and names their parts in the snapshot instead.
func packChangelog(t *testing.T, store objstore.Store, table *paimon.Table, s *paimon.Snapshot) {
	t.Helper()
	entries, err := table.ChangelogEntries(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	entries = []manifest.Entry{entries[0], entries[1]} // those of a table are shared
	var all []byte
	for i := range entries {
		name := tablefile.Path(table, &entries[i])
		r, err := store.Open(t.Context(), name)
		require.NoError(t, err)
		part := make([]byte, r.Size())
		if _, err := r.ReadAt(part, 0); err != io.EOF {
			require.NoError(t, err)
		}
		require.NoError(t, r.Close())
		require.NoError(t, store.Delete(t.Context(), name))
		all = append(all, part...)
	}
	first := entries[0].File.FileSize
	real := fmt.Sprintf("compacted-changelog-packed$%d-%d", entries[0].Bucket, first)
	require.NoError(t, store.Put(t.Context(), table.BucketPath(entries[0].Partition, int(entries[0].Bucket))+"/"+real+".cc-parquet", all))
	entries[0].File.FileName = real + ".cc-parquet"
	entries[1].File.FileName = fmt.Sprintf("%s-%d-%d.cc-parquet", real, first, entries[1].File.FileSize)

	put := func(name string, data []byte, err error) int64 {
		require.NoError(t, err)
		require.NoError(t, store.Put(t.Context(), table.Path+"/"+name, data))
		return int64(len(data))
	}
	data, err := manifest.EncodeEntries(entries, manifest.Options{Compression: "null"})
	size := put("manifest/manifest-packed", data, err)
	meta, err := manifest.Summarize("manifest-packed", size, entries, nil)
	require.NoError(t, err)
	data, err = manifest.EncodeList([]manifest.Meta{meta}, manifest.Options{Compression: "null"})
	size = put("manifest/manifest-list-packed", data, err)
	list := "manifest-list-packed"
	packed := *s
	packed.ChangelogManifestList, packed.ChangelogManifestListSize = &list, &size
	data, err = packed.Marshal()
	put(fmt.Sprintf("snapshot/snapshot-%d", s.ID), data, err)
}
