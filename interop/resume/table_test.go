package resume

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/ingest"
	"sluice/interop/subscriber"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/maintenance"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

const tableName = "shop.orders"

// shop is a table of a warehouse on disk, and what was written to it.
type shop struct {
	t         *testing.T
	dir       string
	cat       *paimon.Catalog
	table     *paimon.Table
	w         *tablewriter.Writer
	committed func() // called after each commit

	n     int64                         // commits
	wrote map[int64][]subscriber.Change // by snapshot: kinds and rows, in the order of writing
}

func newShop(t *testing.T, pk []string, options map[string]string) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), wrote: map[int64][]subscriber.Change{}, committed: func() {}}
	s.cat = paimon.NewCatalog(local.New("/", local.Options{NoSync: true}), strings.TrimPrefix(filepath.ToSlash(s.dir), "/"))
	require.NoError(t, s.cat.CreateDatabase(t.Context(), "shop"))
	s.create(pk, options)
	t.Cleanup(func() {
		if s.w != nil {
			s.w.Close(t.Context()) //nolint:errcheck // the test is over, and nothing is left to commit
		}
	})
	return s
}

func (s *shop) create(pk []string, options map[string]string) {
	s.t.Helper()
	_, err := s.cat.CreateTable(s.t.Context(), tableName, paimon.SchemaSpec{Schema: paimon.ColumnsSpec{
		Fields: []string{
			"day STRING NOT NULL", "id BIGINT NOT NULL", "name STRING", "amount DECIMAL(12, 2)", "total DECIMAL(30, 5)",
			"seen TIMESTAMP(3)", "exact TIMESTAMP(9)", "raw BYTES", "tags ARRAY<INT>", "ok BOOLEAN", "due DATE",
		},
		PK: pk, Partition: []string{"day"},
	}, Options: options})
	require.NoError(s.t, err)
	s.open()
}

// open opens the table and a writer with the schema that there is now.
func (s *shop) open() {
	s.t.Helper()
	ctx := s.t.Context()
	if s.w != nil {
		require.NoError(s.t, s.w.Close(ctx))
	}
	var err error
	s.table, err = s.cat.OpenTable(ctx, tableName)
	require.NoError(s.t, err)
	s.w, err = tablewriter.Open(ctx, s.table, tablewriter.Options{User: "resume", CommitInterval: time.Hour, SpillDir: s.dir})
	require.NoError(s.t, err)
}

// row is a row of the table as JSON, a function of its key and version.
func row(day string, id, version int64) string {
	out := fmt.Sprintf(`{"day":%q,"id":%d,"name":"näme %d of %d","amount":"%d.%02d","total":"-%d.%05d","seen":"2026-11-30T12:%02d:00.%03d","exact":"2026-11-30T12:00:00.%09d"`,
		day, id, version, id, id*10, version%100, id*1_000_000_000_000_000, version, id%60, version, version*1001)
	if id%3 == 0 {
		return out + `,"raw":null,"tags":null,"ok":null,"due":null}`
	}
	return out + fmt.Sprintf(`,"raw":"AQID","tags":[%d,null,%d],"ok":%t,"due":"2026-12-%02d"}`, id, version, version%2 == 0, 1+id%28)
}

// change is a line of what is written: a kind, and a row.
func change(kind, row string) string { return fmt.Sprintf(`{"kind":%q,"row":%s}`, kind, row) }

// commit writes lines as one commit.
func (s *shop) commit(lines ...string) {
	s.t.Helper()
	ctx := s.t.Context()
	rows := &rowdata.Changes{Batch: *rowdata.NewBatch(s.w.Type(), len(lines))}
	dec := ingest.NewJSONL(strings.NewReader(strings.Join(lines, "\n")), s.w.Type())
	for {
		_, err := dec.Decode(rows)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(s.t, err)
	}
	require.Equal(s.t, len(lines), rows.N)
	s.n++
	var want []subscriber.Change
	for i := range rows.N {
		want = append(want, subscriber.Change{Kind: rows.Kind(i).String(), Row: string(rowdata.AppendJSONObject(nil, &rows.Batch, i))})
	}
	_, err := s.w.Write(ctx, rows, tablewriter.Position{Source: "test", Value: fmt.Sprint(s.n)})
	require.NoError(s.t, err)
	id, err := s.w.Commit(ctx)
	require.NoError(s.t, err)
	s.wrote[id] = want
	s.committed()
}

func (s *shop) alter(changes ...string) {
	s.t.Helper()
	var parsed []paimon.Change
	for _, text := range changes {
		c, err := paimon.ParseChange(text)
		require.NoError(s.t, err)
		parsed = append(parsed, c)
	}
	_, err := s.cat.AlterTable(s.t.Context(), tableName, parsed)
	require.NoError(s.t, err)
	s.open()
}

// expire removes all but the newest snapshots.
func (s *shop) expire(keep int) {
	s.t.Helper()
	done, err := maintenance.ExpireSnapshots(s.t.Context(), s.table, maintenance.ExpireOptions{RetainMin: keep, RetainMax: keep, TimeRetained: -1})
	require.NoError(s.t, err)
	require.Positive(s.t, done.Count())
}

func (s *shop) latest() int64 {
	s.t.Helper()
	id, err := s.table.LatestID(s.t.Context())
	require.NoError(s.t, err)
	return id
}

var days = [...]string{"2026-11-29", "2026-11-30"}

// begin writes what is there before anybody subscribes: its first snapshots have
// expired, so that a stream can only begin with an image.
func (s *shop) begin(keyed bool) {
	s.t.Helper()
	var lines []string
	for id := range int64(14) {
		lines = append(lines, change("+I", row(days[id%2], id, 1)))
	}
	s.commit(lines...)
	if keyed {
		s.commit(
			change("-U", row(days[0], 2, 1)), change("+U", row(days[0], 2, 2)),
			change("-U", row(days[1], 5, 1)), change("+U", row(days[1], 5, 2)),
			change("-D", row(days[0], 4, 1)),
		)
	}
	s.commit(change("+I", row(days[0], 20, 1)), change("+I", row(days[1], 21, 1)))
	s.expire(1)
}

// goOn writes what a subscriber sees as changes: several commits, an empty one,
// and two changes of the schema.
func (s *shop) goOn(keyed bool) {
	s.t.Helper()
	var lines []string
	for id := range int64(8) {
		if keyed {
			lines = append(lines, change("-U", row(days[id%2], 6+id, 1)), change("+U", row(days[id%2], 6+id, 2)))
		} else {
			lines = append(lines, change("+I", row(days[id%2], 60+id, 1)))
		}
	}
	s.commit(lines...)
	s.commit()
	s.alter("add column note STRING AFTER id", "rename column name to title")
	named := func(day string, id, version int64) string {
		return strings.Replace(strings.Replace(row(day, id, version), `"name"`, `"title"`, 1), `,"title"`, fmt.Sprintf(`,"note":"n%d","title"`, id), 1)
	}
	lines = nil
	for id := range int64(6) {
		lines = append(lines, change("+I", named(days[id%2], 30+id, 1)))
		if keyed && id > 2 {
			lines = append(lines, change("-D", row(days[(6+id)%2], 6+id, 2)))
		}
	}
	if keyed {
		for i := range lines {
			lines[i] = strings.Replace(lines[i], `"name"`, `"title"`, 1)
		}
	}
	s.commit(lines...)
	s.alter("drop column raw")
	s.commit(change("+I", strings.ReplaceAll(named(days[1], 40, 1), `"raw":"AQID",`, "")), change("+I", strings.ReplaceAll(named(days[0], 42, 7), `"raw":null,`, "")))
}

// requireTruth compares a stream with what was written: the image of a snapshot
// with the state up to it, the changes of each snapshot with its own.
func (s *shop) requireTruth(image int64, got []subscriber.Change) {
	s.t.Helper()
	bySnapshot := map[int64][]string{}
	state := []string{}
	for _, c := range got {
		if c.Image {
			require.Equal(s.t, image, c.Snapshot)
			require.Contains(s.t, []string{"+I", "+U"}, c.Kind) // as the row is stored
			state = append(state, "+I "+c.Row)
			continue
		}
		bySnapshot[c.Snapshot] = append(bySnapshot[c.Snapshot], c.Kind+" "+c.Row)
	}
	require.ElementsMatch(s.t, s.stateAt(image), state)
	for id := image + 1; id <= s.latest(); id++ {
		var want []string
		for _, c := range s.wrote[id] {
			want = append(want, c.Kind+" "+c.Row)
		}
		require.ElementsMatch(s.t, want, bySnapshot[id], "snapshot %d", id)
	}
}

// stateAt folds what was written up to a snapshot.
func (s *shop) stateAt(snapshot int64) []string {
	var rows []string
	for id := int64(1); id <= snapshot; id++ {
		for _, c := range s.wrote[id] {
			if c.Kind == "+I" || c.Kind == "+U" {
				rows = append(rows, "+I "+c.Row)
				continue
			}
			at := slices.Index(rows, "+I "+c.Row)
			require.GreaterOrEqual(s.t, at, 0)
			rows = slices.Delete(rows, at, at+1)
		}
	}
	return rows
}
