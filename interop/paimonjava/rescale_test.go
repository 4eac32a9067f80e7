//go:build interop

package paimonjava

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/tablewriter"
)

// TestRescale changes the number of buckets of a table by an overwrite, to more and
// to fewer, while the indexes of the old buckets lie in the same folder: the
// overwrite delivers nothing, each change after it is told against what the
// overwrite left, and Java finds the same rows and nothing wrong.
func TestRescale(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		for _, keep := range []bool{false, true} { // the writer's folder of indexes
			t.Run(fmt.Sprintf("%s, same indexes %v", producer, keep), func(t *testing.T) {
				t.Parallel()
				options := map[string]string{"bucket": "2", "changelog-producer": producer}
				if producer == "full-compaction" {
					options["full-compaction.delta-commits"] = "1"
				}
				f := ours(t, paimon.SchemaSpec{
					Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING"}, PK: []string{"k"}},
					Options: options,
				})
				r := &rescaled{table: f, want: map[int]string{}}
				dir := t.TempDir()
				r.lookupDir = func() string {
					if keep {
						return dir
					}
					return t.TempDir()
				}
				r.upsert("a", 0, 40)
				r.upsert("b", 20, 60)
				for round, buckets := range []int{5, 1, 3} {
					f.alter(fmt.Sprintf("set option bucket=%d", buckets))
					r.overwrite(fmt.Sprint("o", round), 10*round, 50)
					r.upsert(fmt.Sprint("p", round), 0, 70)
					r.remove(30, 35)
					r.upsert(fmt.Sprint("q", round), 25, 45)
				}
				f.javaWrite("full", change{"+I", []any{0, "java"}}, change{"+I", []any{100, "java"}})
				r.want[0], r.want[100] = "java", "java"
				_, r.seen = f.span("")
				r.check()
				r.upsert("z", 0, 110)
			})
		}
	}
}

// rescaled is a table of keys and texts.
type rescaled struct {
	*table
	want      map[int]string
	lookupDir func() string
	seen      int64 // newest snapshot whose changes were compared
}

func (r *rescaled) do(o *commit.Overwrite, changes []change) {
	r.Helper()
	w, err := tablewriter.Open(r.Context(), r.open(""), tablewriter.Options{
		User: "sluice", CommitInterval: time.Hour, SpillDir: r.TempDir(), LookupDir: r.lookupDir(), Overwrite: o,
	})
	require.NoError(r, err)
	_, err = w.Write(r.Context(), r.batch(w.Type(), changes), tablewriter.Position{})
	require.NoError(r, err)
	_, err = w.Commit(r.Context())
	require.NoError(r, err)
	require.NoError(r, w.Close(r.Context()))
}

// upsert writes the keys and expects the change of each.
func (r *rescaled) upsert(v string, from, to int) {
	r.Helper()
	var in []change
	var told []string
	for k := from; k < to; k++ {
		in = append(in, change{"+I", []any{k, v}})
		if was, ok := r.want[k]; ok {
			told = append(told, line("-U", k, was), line("+U", k, v))
		} else {
			told = append(told, line("+I", k, v))
		}
		r.want[k] = v
	}
	r.do(nil, in)
	r.expect(told)
}

// remove deletes keys that may be there.
func (r *rescaled) remove(from, to int) {
	r.Helper()
	var in []change
	var told []string
	for k := from; k < to; k++ {
		in = append(in, change{"-D", []any{k, nil}})
		if was, ok := r.want[k]; ok {
			told = append(told, line("-D", k, was))
		}
		delete(r.want, k)
	}
	r.do(nil, in)
	r.expect(told)
}

// overwrite makes the keys all that there is, and expects silence.
func (r *rescaled) overwrite(v string, from, to int) {
	r.Helper()
	clear(r.want)
	var in []change
	for k := from; k < to; k++ {
		in = append(in, change{"+I", []any{k, v}})
		r.want[k] = v
	}
	r.do(&commit.Overwrite{}, in)
	r.expect(nil)
}

func line(kind string, k int, v string) string {
	return fmt.Sprintf(`%s {"k":%d,"v":"%s"}`, kind, k, v)
}

// expect compares the changes since the last time, by both readers.
func (r *rescaled) expect(told []string) {
	r.Helper()
	_, last := r.span("")
	got := r.changes("", r.seen+1, last)
	require.Equal(r, r.javaChanges("", r.seen+1, last), got)
	r.seen = last
	plain := make([]string, len(got))
	for i, text := range got {
		var snapshot int64
		var place, kind, row string
		_, err := fmt.Sscan(text, &snapshot, &place, &kind, &row)
		require.NoError(r, err)
		plain[i] = kind + " " + row
	}
	require.ElementsMatch(r, told, plain)
	r.check()
}

// check compares rows and lets Java audit the table.
func (r *rescaled) check() {
	r.Helper()
	var want []string
	for k, v := range r.want {
		want = append(want, line("", k, v)[1:])
	}
	slices.Sort(want)
	require.Equal(r, want, r.rows(where{}, ""))
	require.Equal(r, want, r.javaRows(where{}, ""))
	r.sound("--no-fold") // which folds over overwrites, too
}
