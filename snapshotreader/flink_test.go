package snapshotreader

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

const flinkDir = "../testdata/golden-flink"

// flinkExpected is what Flink reads from a table that it wrote itself.
type flinkExpected struct {
	Rows         []flinkRow      `json:"rows"`
	Changelog    *[]flinkRow     `json:"changelog"`
	ChangelogRaw *[]flinkRow     `json:"changelog_raw"`
	BySnapshot   []flinkSnapshot `json:"by_snapshot"`
}

type flinkRow struct {
	Kind string         `json:"kind"`
	Row  map[string]any `json:"row"`
}

type flinkSnapshot struct {
	Snapshot int64            `json:"snapshot"`
	Changes  []map[string]any `json:"changes"`
	Rows     []map[string]any `json:"rows"`
}

// flinkText brings a value to one form: Flink leaves out zeros at the end of
// times, and shows maps as lists of pairs in any order.
func flinkText(t *testing.T, typ *rowdata.Type, v any) string {
	if v == nil {
		return "null"
	}
	switch typ.Root {
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		for _, form := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04"} {
			if at, err := time.Parse(form, v.(string)); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
		require.Fail(t, "not a time", "%v", v)
	case rowdata.Time:
		text := v.(string)
		if len(text) == len("00:00") {
			text += ":00"
		}
		return text
	case rowdata.Array, rowdata.Vec:
		text := "["
		for _, x := range v.([]any) {
			text += flinkText(t, typ.Elem, x) + " "
		}
		return text + "]"
	case rowdata.Map:
		var pairs []string
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				pairs = append(pairs, flinkText(t, typ.Key, k)+"="+flinkText(t, typ.Elem, x))
			}
		case []any:
			for _, p := range v {
				kv := p.([]any)
				pairs = append(pairs, flinkText(t, typ.Key, kv[0])+"="+flinkText(t, typ.Elem, kv[1]))
			}
		}
		slices.Sort(pairs)
		return fmt.Sprint(pairs)
	case rowdata.Row:
		return flinkRowText(t, typ.Fields, v.(map[string]any))
	case rowdata.Float, rowdata.Double:
		return fmt.Sprintf("%.7g", rational(t, v))
	}
	return fmt.Sprint(v)
}

func rational(t *testing.T, v any) (f float64) {
	_, err := fmt.Sscan(fmt.Sprint(v), &f)
	require.NoError(t, err)
	return f
}

func flinkRowText(t *testing.T, fields []rowdata.Field, row map[string]any) string {
	text := "{"
	for _, f := range fields {
		v, ok := row[f.Name]
		require.True(t, ok, "no %s in %v", f.Name, row)
		text += f.Name + "=" + flinkText(t, f.Type, v) + " "
	}
	return text + "}"
}

// flinkChange is a change with its key, for comparing per key.
type flinkChange struct{ key, text string }

func flinkChangesOf(t *testing.T, b *Batch) []flinkChange {
	var out []flinkChange
	for i := range b.Rows.N {
		row := decodeObject(t, rowdata.AppendJSONObject(nil, &b.Rows.Batch, i))
		out = append(out, flinkChangeOf(t, b.Schema, b.Rows.Kind(i).String(), row))
	}
	return out
}

func flinkChangeOf(t *testing.T, s *paimon.Schema, kind string, row map[string]any) flinkChange {
	var key []rowdata.Field
	for _, i := range s.KeyCols() {
		key = append(key, s.Fields[i])
	}
	return flinkChange{key: flinkRowText(t, key, row), text: kind + " " + flinkRowText(t, s.Fields, row)}
}

// perKey orders changes by key and keeps the order within a key; without keys all
// are sorted.
func perKey(changes []flinkChange, keyed bool) []string {
	slices.SortStableFunc(changes, func(a, b flinkChange) int {
		if !keyed {
			return cmp.Compare(a.text, b.text)
		}
		return cmp.Compare(a.key, b.key)
	})
	out := []string{}
	for _, c := range changes {
		out = append(out, c.text)
	}
	return out
}

func TestGoldenFlink(t *testing.T) {
	for _, name := range goldenNames(t, flinkDir) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(flinkDir, name)
			want := readExpected[flinkExpected](t, filepath.Join(dir, "expected.json"))
			table := openGolden(t, filepath.Join(dir, "default.db", name), "")
			s := table.Schema()

			// All changes that are left.
			perSnapshot := make(map[int64][]flinkChange)
			var all []flinkChange
			for _, b := range readBatches(t, table, Start{}, Options{Until: Until{Mode: UntilLatest}}) {
				changes := flinkChangesOf(t, b)
				perSnapshot[b.Snapshot.ID] = append(perSnapshot[b.Snapshot.ID], changes...)
				all = append(all, changes...)
			}
			raw := want.ChangelogRaw
			if raw == nil && (!s.HasPrimaryKey() || s.ChangelogProducer() != paimon.ProducerNone) {
				raw = want.Changelog
			}
			if raw != nil {
				var changes []flinkChange
				for _, c := range *raw {
					changes = append(changes, flinkChangeOf(t, s, c.Kind, c.Row))
				}
				require.Equal(t, perKey(changes, s.HasPrimaryKey()), perKey(all, s.HasPrimaryKey()))
			}
			for _, snapshot := range want.BySnapshot {
				var changes []flinkChange
				for _, c := range snapshot.Changes {
					changes = append(changes, flinkChangeOf(t, s, c["rowkind"].(string), c))
				}
				require.Equal(t, perKey(changes, s.HasPrimaryKey()), perKey(perSnapshot[snapshot.Snapshot], s.HasPrimaryKey()), "snapshot %d", snapshot.Snapshot)
				testFlinkRows(t, table, snapshot)
			}
		})
	}
}

func testFlinkRows(t *testing.T, table *paimon.Table, want flinkSnapshot) {
	t.Helper()
	s := table.Schema()
	snap, err := table.Snapshot(t.Context(), want.Snapshot)
	require.NoError(t, err)
	scanner, err := Scan(t.Context(), table, snap, ScanSpec{})
	require.NoError(t, err)
	var got, rows []string
	for _, b := range readScan(t, scanner) {
		for i := range b.Rows.N {
			got = append(got, flinkRowText(t, s.Fields, decodeObject(t, rowdata.AppendJSONObject(nil, &b.Rows.Batch, i))))
		}
	}
	for _, r := range want.Rows {
		rows = append(rows, flinkRowText(t, s.Fields, r))
	}
	slices.Sort(got)
	slices.Sort(rows)
	require.Equal(t, rows, got, "rows of snapshot %d", want.Snapshot)
}
