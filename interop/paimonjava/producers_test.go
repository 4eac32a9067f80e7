//go:build interop

package paimonjava

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/histories/fold"
	"sluice/interop/histories/invariant"
	"sluice/paimon"
	"sluice/tablewriter"
)

// exchanges are tables that both sides write and compact by turns: each producer
// with each merge engine that it goes with.
var exchanges = []struct {
	name, producer, engine string
	buckets                int
	partitioned            bool
	options                map[string]string
	stays                  bool // our writer stays open
	lost                   bool // our lookup index is deleted between turns
}{
	{name: "none", producer: "none", engine: "deduplicate", buckets: 2, options: map[string]string{"num-sorted-run.compaction-trigger": "3"}},
	{name: "none, partial-update", producer: "none", engine: "partial-update", buckets: 1},
	{name: "none, aggregation", producer: "none", engine: "aggregation", buckets: 1, stays: true},
	{name: "none, first-row", producer: "none", engine: "first-row", buckets: 2},
	{name: "input", producer: "input", engine: "deduplicate by sequence", buckets: 2, options: map[string]string{"file.format": "avro"}},
	{name: "input, partial-update", producer: "input", engine: "partial-update with removal", buckets: 1},
	{name: "input, aggregation", producer: "input", engine: "aggregation", buckets: 1},

	{name: "lookup", producer: "lookup", engine: "deduplicate", buckets: 1, options: map[string]string{"num-sorted-run.compaction-trigger": "3"}},
	{name: "lookup, index lost", producer: "lookup", engine: "deduplicate by sequence", buckets: 1, lost: true},
	{
		name: "lookup, partitioned, without equal pairs", producer: "lookup", engine: "deduplicate", buckets: 2, partitioned: true,
		options: map[string]string{"changelog-producer.row-deduplicate": "true"},
	},
	{name: "lookup, partial-update", producer: "lookup", engine: "partial-update", buckets: 1},
	{name: "lookup, partial-update, partitioned", producer: "lookup", engine: "partial-update with removal", buckets: 2, partitioned: true, stays: true},
	{name: "lookup, aggregation", producer: "lookup", engine: "aggregation", buckets: 1, stays: true, options: map[string]string{"num-levels": "3"}},
	{name: "lookup, aggregation, index lost", producer: "lookup", engine: "aggregation with removal", buckets: 2, lost: true},
	{name: "lookup, first-row", producer: "lookup", engine: "first-row", buckets: 2},

	{name: "full-compaction", producer: "full-compaction", engine: "deduplicate", buckets: 1},
	{name: "full-compaction, partitioned", producer: "full-compaction", engine: "deduplicate by sequence", buckets: 2, partitioned: true},
	{name: "full-compaction, partial-update", producer: "full-compaction", engine: "partial-update with removal", buckets: 1, stays: true},
	{name: "full-compaction, aggregation", producer: "full-compaction", engine: "aggregation", buckets: 2, options: map[string]string{"changelog-file.format": "avro"}},
}

// exchangeTurns is how often one side goes on with what the other left.
const exchangeTurns = 20

// TestProducers has 20 turns of each table. After each turn we read the rows that
// the model has; where the producer tells all, folding the changes gives these
// rows, and what they take back is what they had told. Java reads the same rows and
// changes, after every fourth turn or in the full form after each, and its audit
// finds nothing.
func TestProducers(t *testing.T) {
	for i, l := range exchanges {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			e := mergeEngines()[l.engine]
			name, _, _ := strings.Cut(e.name, " ")
			options := map[string]string{"bucket": strconv.Itoa(l.buckets), "changelog-producer": l.producer, "merge-engine": name}
			maps.Copy(options, e.options)
			maps.Copy(options, l.options)
			x := &exchange{
				values: newValues(t), engine: e, producer: l.producer, partitioned: l.partitioned, one: l.buckets == 1 && !l.partitioned,
				stays: l.stays, lost: l.lost, known: map[int]*known{}, told: map[string]string{}, index: t.TempDir(),
			}
			x.fold.KindsKept = name == "first-row"
			create := ours
			if i%2 == 1 {
				create = javas
			}
			spec := paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: append([]string{"k INT NOT NULL"}, e.fields...), PK: []string{"k"}}, Options: options}
			if l.partitioned {
				spec.Schema.Fields = slices.Insert(spec.Schema.Fields, 1, "p STRING NOT NULL")
				spec.Schema.PK, spec.Schema.Partition = []string{"p", "k"}, []string{"p"}
			}
			x.table = create(t, spec)
			if p := x.table.open(""); invariant.Complete(p.Schema()) {
				var err error
				x.checker, err = invariant.NewChecker(p)
				require.NoError(t, err)
			}
			for turn := range exchangeTurns {
				x.turn(turn + 1)
			}
			x.closeWriter()
			x.verify()
			if x.checker != nil && name != "first-row" {
				x.bothTold()
			}
		})
	}
}

// exchange is a table that goes from side to side, and what must be in it.
type exchange struct {
	*table
	*values
	engine      mergeEngine
	producer    string
	partitioned bool
	one         bool // there is one bucket: what is compacted is all
	stays, lost bool

	known   map[int]*known
	told    map[string]string // rows that the changelog must have told, by key
	fold    fold.Fold
	checker *invariant.Checker // nil: the changelog is not complete
	seen    int64              // snapshot up to which we have read changes
	index   string             // folder of our lookup indexes
	w       *tablewriter.Writer

	unasked []string // changes that Java was not asked for yet
	asked   int64    // snapshot up to which it was
}

// exchangeKeys is the number of keys: few, so that they meet.
const exchangeKeys = 50

// turn lets one side write and compact.
func (x *exchange) turn(n int) {
	x.Helper()
	count := 1 + x.IntN(25)
	if n == 1 {
		count = 150 // what is below the rest
	}
	rows := x.changes(n, count)
	var all, owed bool
	if n%2 == 1 {
		all = x.byUs(n, rows)
	} else {
		all, owed = x.byJava(n, rows)
	}
	x.compare(n, all, owed)
	if n%5 == 0 && n < exchangeTurns { // once more at the end
		x.verify()
	}
}

// changes draws changes of n keys, and has the model follow them.
func (x *exchange) changes(turn, n int) []change {
	var out []change
	for range n {
		key := x.IntN(exchangeKeys)
		k := x.known[key]
		if k == nil {
			k = &known{}
			x.known[key] = k
		}
		for _, c := range x.engine.draw(x.values, k, turn) {
			there := k.vals != nil
			x.engine.apply(k, c.Kind, c.Row)
			if there && k.vals == nil {
				k.gone = turn
			}
			out = append(out, change{c.Kind, x.row(key, c.Row)})
		}
	}
	return out
}

func (x *exchange) row(key int, vals []any) []any {
	if x.partitioned {
		return append([]any{key, partitionOf(key)}, vals...)
	}
	return append([]any{key}, vals...)
}

func partitionOf(key int) string { return []string{"a", "b", "c"}[key%3] }

// byUs writes as we do, with a compaction of one kind or another. all tells that
// afterwards everything is on the highest level.
func (x *exchange) byUs(turn int, rows []change) (all bool) {
	x.Helper()
	if x.lost && turn%4 == 3 {
		require.NoError(x, os.RemoveAll(x.index))
	}
	mode := pick(x.values, tablewriter.CompactAuto, tablewriter.CompactNone, tablewriter.CompactWait, tablewriter.CompactFull)
	if x.w == nil {
		x.w = x.openWriter()
	}
	r, err := x.w.Write(x.Context(), x.batch(x.w.Type(), rows), tablewriter.Position{})
	require.NoError(x, err)
	_, err = x.w.CommitWith(x.Context(), mode)
	require.NoError(x, err)
	_, err = r.Wait(x.Context())
	require.NoError(x, err)
	if x.waits() && mode == tablewriter.CompactNone {
		_, err = x.w.CommitWith(x.Context(), tablewriter.CompactWait)
		require.NoError(x, err)
	}
	if !x.stays {
		x.closeWriter()
	}
	after := x.after(turn)
	x.Logf("turn %d: ours, %d rows, mode %d, %s", turn, len(rows), mode, after)
	if after != "" {
		x.job(after == "compact full")
	}
	return after == "compact full" || mode == tablewriter.CompactFull && x.one
}

// after draws the compaction that follows a write. Each side has a full one at
// least once.
func (x *exchange) after(turn int) string {
	if turn == exchangeTurns/2 || turn == exchangeTurns/2+1 {
		return "compact full"
	}
	return pick(x.values, "", "", "compact", "compact full")
}

// waits tells whether what is read hangs on compactions, so that each commit waits
// for them.
func (x *exchange) waits() bool { return x.producer == "lookup" || x.engine.name == "first-row" }

func (x *exchange) openWriter() *tablewriter.Writer {
	x.Helper()
	w, err := tablewriter.Open(x.Context(), x.table.open(""), tablewriter.Options{
		User: "sluice", CommitInterval: time.Hour, SpillDir: x.TempDir(), LookupDir: filepath.Join(x.index, "writer"), StraightOff: x.chance(2),
	})
	require.NoError(x, err)
	return w
}

func (x *exchange) closeWriter() {
	x.Helper()
	if x.w != nil {
		require.NoError(x, x.w.Close(x.Context()))
	}
	x.w = nil
}

// job compacts all buckets as the gateway's command does, beside the writer.
func (x *exchange) job(full bool) {
	x.Helper()
	_, err := tablewriter.Compact(x.Context(), x.table.open(""), tablewriter.CompactOptions{
		Full: full, User: "job", LookupDir: filepath.Join(x.index, "job"),
	})
	require.NoError(x, err)
}

// byJava writes as Java, which compacts in the commit, or afterwards, or leaves it
// to the next turn. owed tells that the rows are on level 0, where readers of some
// tables do not look.
func (x *exchange) byJava(turn int, rows []change) (all, owed bool) {
	x.Helper()
	how := pick(x.values, "none", "wait", "full", "owed")
	if how == "none" && x.waits() {
		how = "auto" // none does not wait for what it begins
	}
	if how == "owed" {
		x.javaStep(map[string]any{"write": rows, "compact": "none", "dynamic": map[string]string{"write-only": "true"}})
	} else {
		x.javaWrite(how, rows...)
	}
	after := x.after(turn)
	x.Logf("turn %d: Java, %d rows, %s, %s", turn, len(rows), how, after)
	switch after {
	case "compact":
		x.java("compact", x.dir)
	case "compact full":
		x.java("compact", x.dir, "--full")
	}
	return after == "compact full" || how == "full" && x.one, how == "owed" && after == "" && x.waits()
}

// compare checks what both sides read now: the rows, and the changes since the last
// time.
func (x *exchange) compare(turn int, all, owed bool) {
	x.Helper()
	want := x.want()
	if !owed && x.waits() || all {
		x.told = want
	}
	read := want
	if x.engine.name == "first-row" {
		read = x.told // level 0 is not read
	}
	what, ours := "turn "+strconv.Itoa(turn), x.rows(where{}, "")
	x.same(what+": rows, the model in place of Java", slices.Sorted(maps.Values(read)), ours)
	_, to := x.span("")
	changes := x.table.changes("", x.seen+1, to)
	x.unasked = append(x.unasked, changes...)
	if sometimes(turn, 4) || turn == exchangeTurns {
		x.same(what+": rows", x.javaRows(where{}, ""), ours)
		x.same(what+": changes", x.javaChanges("", x.asked+1, to), x.unasked)
		x.unasked, x.asked = nil, to
	}
	x.seen = to
	if x.checker == nil {
		return
	}
	problems, err := x.checker.Through(x.Context(), to)
	require.NoError(x, err)
	require.Empty(x, problems, what)
	problems = append(x.fold.Apply(x.parse(changes)), x.fold.End()...)
	if x.waits() || all {
		problems = append(problems, x.fold.Equal(x.told)...)
	}
	require.Empty(x, problems, what)
}

// bothTold checks that either side made changelog.
func (x *exchange) bothTold() {
	x.Helper()
	t, told := x.table.open(""), map[bool]int64{}
	for id := int64(1); id <= x.seen; id++ {
		s, err := t.Snapshot(x.Context(), id)
		require.NoError(x, err)
		if s.ChangelogRecordCount != nil {
			told[s.CommitUser == "sluice" || s.CommitUser == "job"] += *s.ChangelogRecordCount
		}
	}
	require.Positive(x, told[true], "ours")
	require.Positive(x, told[false], "Java's")
}

// want renders the rows of the model as readers do.
func (x *exchange) want() map[string]string {
	x.Helper()
	out := map[string]string{}
	fields := x.table.open("").Schema().Fields
	for key, k := range x.known {
		if k.vals == nil {
			continue
		}
		var b bytes.Buffer
		for i, v := range x.row(key, k.vals) {
			text, err := json.Marshal(v)
			require.NoError(x, err)
			fmt.Fprintf(&b, `%c"%s":%s`, "{,"[min(i, 1)], fields[i].Name, text)
		}
		out[strconv.Itoa(key)] = b.String() + "}"
	}
	return out
}

// parse reads lines as ordered makes them.
func (x *exchange) parse(lines []string) []fold.Change {
	x.Helper()
	out := make([]fold.Change, len(lines))
	for i, line := range lines {
		part := strings.SplitN(line, " ", 4)
		var row struct{ K *int }
		require.NoError(x, json.Unmarshal([]byte(part[3]), &row), line)
		require.NotNil(x, row.K, line)
		out[i] = fold.Change{Kind: part[2], Key: strconv.Itoa(*row.K), Row: part[3]}
	}
	return out
}
