package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/interop/casefile"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// StatesMax bounds the states that a bucket may be in at once.
const StatesMax = 20_000

// Options are what the described engine gets wrong; the zero value is us.
type Options struct {
	// BufferAscending: the write buffer sorts by sequence fields ascending whatever
	// the option sequence.field.sort-order says, and files are merged by it.
	BufferAscending bool
	// SumWraps: sums and products of integers wrap around.
	SumWraps bool
	// MovesRaw: a file of level 0 that is alone is moved up as it is while the
	// changelog has its records merged.
	MovesRaw bool
	// Remerges: a record above level 0 is given to the engine again although nothing
	// new came for its key: in compactions with level 0, and in reads if the key is
	// on several levels. With partial-update that can change the row.
	Remerges bool
	// Retells: after num-levels was raised a full compaction tells again what was on
	// the highest level before.
	Retells bool
	// Kinds: each compaction is a COMPACT snapshot, so that kinds of snapshots tell
	// whether there was one. Ours may write above level 0 in one snapshot.
	Kinds bool
}

// Release returns what the released Java gets wrong (semantics section 10).
func Release() Options {
	return Options{BufferAscending: true, SumWraps: true, MovesRaw: true, Remerges: true, Retells: true, Kinds: true}
}

// Model follows a case commit by commit.
type Model struct {
	o              Options
	c              *casefile.Case
	engine         engine
	picker         picker
	producer       string
	sequence       []int
	descending     bool
	lookup         bool // level 0 is forced up and merged with what lies above
	rowDeduplicate bool
	ignored        []int
	ignoreDelete   bool
	ignoreBefore   bool
	writeOnly      bool
	partition      []int
	options        map[string]string // of the table; schema changes alter them
	place          func(row []any) (int, error)
	numBuckets     int
	expiry         expiry
	evolved        bool               // there were schema changes
	buckets        map[spot][]*bucket // the states that each may be in
}

// spot is a bucket of a partition.
type spot struct {
	partition string
	bucket    int
}

func (s spot) String() string { return fmt.Sprintf("%s/bucket %d", s.partition, s.bucket) }

// New returns the model of a case's table.
func New(c *casefile.Case, o Options) (*Model, error) {
	m := &Model{o: o, c: c, options: map[string]string{}, buckets: map[spot][]*bucket{}}
	maps.Copy(m.options, c.Options)
	for _, f := range c.Schema.Fields {
		col, err := parseColumn(f)
		if err != nil {
			return nil, err
		}
		m.engine.columns = append(m.engine.columns, col)
	}
	if len(c.Schema.PK) == 0 {
		return nil, &UnknownError{"tables without a primary key"}
	}
	return m, m.build(m.options)
}

// unknown are options that change what the model would have to say.
var unknown = []string{
	"deletion-vectors.enabled", "rowkind.field", "compaction.optimization-interval", "compaction.total-size-threshold",
	"compaction.incremental-size-threshold", "streaming-read-overwrite", "sequence.snapshot-ordering",
	"num-sorted-run.stop-trigger", "dynamic-partition-overwrite",
}

// build reads the options for the columns that there are.
func (m *Model) build(options map[string]string) error {
	for _, name := range unknown {
		if v, ok := options[name]; ok && v != "false" {
			return &UnknownError{"option " + name}
		}
	}
	position := func(name string) int {
		return slices.IndexFunc(m.engine.columns, func(c column) bool { return c.name == name })
	}
	m.sequence, m.ignored, m.partition, m.engine.key = nil, nil, nil, nil
	for _, name := range m.c.Schema.PK {
		m.engine.key = append(m.engine.key, position(name))
	}
	for _, name := range m.c.Schema.Partition {
		m.partition = append(m.partition, position(name))
	}
	if s := options["sequence.field"]; s != "" {
		for _, name := range strings.Split(s, ",") {
			m.sequence = append(m.sequence, position(strings.TrimSpace(name)))
		}
	}
	if s := options["changelog-producer.row-deduplicate-ignore-fields"]; s != "" {
		for _, name := range strings.Split(s, ",") {
			m.ignored = append(m.ignored, position(name))
		}
	}
	m.descending = options["sequence.field.sort-order"] == "descending"
	m.producer = options["changelog-producer"]
	if m.producer == "" {
		m.producer = "none"
	}
	m.rowDeduplicate = options["changelog-producer.row-deduplicate"] == "true"
	m.ignoreDelete = options["ignore-delete"] == "true"
	m.ignoreBefore = options["ignore-update-before"] == "true"
	m.writeOnly = options["write-only"] == "true"
	if err := m.engine.build(options, m.sequence, m.o.SumWraps); err != nil {
		return err
	}
	if m.rowDeduplicate && slices.ContainsFunc(m.engine.aggregates, func(a aggregate) bool { return len(a.nested.key) > 0 }) {
		return &UnknownError{"row-deduplicate of rows in the order of a hash table"}
	}
	m.lookup = m.producer == "lookup" || m.engine.name == "first-row" || options["force-lookup"] == "true"
	m.picker = picker{trigger: 5, forceUp: m.lookup || options["compaction.force-up-level-0"] == "true"}
	if err := number(options, "num-sorted-run.compaction-trigger", &m.picker.trigger); err != nil {
		return err
	}
	levels := m.picker.trigger + 1
	if err := number(options, "num-levels", &levels); err != nil {
		return err
	}
	m.picker.top = max(levels, 2) - 1
	if options["lookup-compact"] == "gentle" && m.lookup {
		m.picker.patience = 2 * m.picker.trigger
		if err := number(options, "lookup-compact.max-interval", &m.picker.patience); err != nil {
			return err
		}
		m.picker.patience = max(m.picker.patience, m.picker.trigger)
	}
	if err := m.expiry.build(options, m.engine.columns); err != nil {
		return err
	}
	if m.expiry.on && m.evolved { // statistics of an older schema are not looked at
		return &UnknownError{"record-level.expire-time with schema changes"}
	}
	m.numBuckets = 1
	if err := number(options, "bucket", &m.numBuckets); err != nil {
		return err
	}
	return m.placement()
}

func number(options map[string]string, name string, into *int) error {
	text, ok := options[name]
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	*into = n
	return nil
}

// placement prepares telling the bucket of a row.
func (m *Model) placement() error {
	switch {
	case m.numBuckets < 1:
		return &UnknownError{"bucket = " + m.options["bucket"]}
	case m.numBuckets == 1:
		m.place = func([]any) (int, error) { return 0, nil }
		return nil
	}
	spec := paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{PK: m.c.Schema.PK, Partition: m.c.Schema.Partition},
		Options: map[string]string{"bucket": strconv.Itoa(m.numBuckets)},
	}
	for _, name := range []string{"bucket-key", "bucket-function.type"} {
		if v, ok := m.options[name]; ok {
			spec.Options[name] = v
		}
	}
	var at []int // positions of the columns that the bucket may hang on
	for i, c := range m.engine.columns {
		if slices.Contains(m.engine.key, i) {
			at = append(at, i)
			spec.Schema.Fields = append(spec.Schema.Fields, c.name+" "+c.text)
		}
	}
	s, err := paimon.NewSchema(spec, 0)
	if err != nil {
		return err
	}
	b, err := rowdata.NewBucketer(s.BucketFunction(), s.BucketKeyTypes(), m.numBuckets)
	if err != nil {
		return err
	}
	keys := s.BucketKey()
	m.place = func(row []any) (int, error) {
		batch, key := rowdata.NewBatch(s.RowType(), 1), make([]any, len(at))
		for i, p := range at {
			key[i] = row[p]
		}
		if err := rowdata.AppendJSONRow(batch, key); err != nil {
			return 0, err
		}
		cols := make([]*rowdata.Vector, len(keys))
		for i, k := range keys {
			cols[i] = batch.Cols[k]
		}
		return b.Bucket(cols, 0), nil
	}
	return nil
}

// rows parses the rows of a commit that are not filtered out, by bucket; touched
// are the buckets that rows were meant for, filtered or not: those that a full
// compaction is asked for.
func (m *Model) rows(commit []casefile.Row) (rows map[spot][]*record, touched map[spot]bool, err error) {
	rows, touched = map[spot][]*record{}, map[spot]bool{}
	for _, r := range commit {
		if len(r.Row) != len(m.engine.columns) {
			return nil, nil, fmt.Errorf("row %v: want %d values", r.Row, len(m.engine.columns))
		}
		k := &record{kind: r.Kind, vals: make([]any, len(r.Row))}
		for i, c := range m.engine.columns {
			if k.vals[i], err = c.parse(r.Row[i]); err != nil {
				return nil, nil, err
			}
			if k.vals[i] == nil && (c.notNull || slices.Contains(m.engine.key, i)) {
				return nil, nil, failed(casefile.MeansNull)
			}
		}
		at := spot{}
		if at.bucket, err = m.place(r.Row); err != nil {
			return nil, nil, err
		}
		var names []string
		for _, p := range m.partition {
			names = append(names, fmt.Sprintf("%s=%v", m.engine.columns[p].name, k.vals[p]))
		}
		at.partition = strings.Join(names, "/")
		touched[at] = true
		if r.Kind == "-U" && (m.ignoreDelete || m.ignoreBefore) || r.Kind == "-D" && m.ignoreDelete {
			continue
		}
		for _, p := range m.engine.key {
			if !slices.Contains(m.partition, p) {
				k.key = append(k.key, k.vals[p])
			}
		}
		rows[at] = append(rows[at], k)
	}
	return rows, touched, nil
}

// dynamic applies the options that hold for one commit.
func (m *Model) dynamic(options map[string]string) error {
	for name := range options {
		if name != "write-only" {
			return &UnknownError{"dynamic option " + name}
		}
	}
	all := maps.Clone(m.options)
	maps.Copy(all, options)
	return m.build(all)
}

// text renders a row so that equal rows have equal texts. An array whose order is
// that of a hash table is a multiset.
func (m *Model) text(kind string, vals []any) string {
	row := make([]any, len(vals))
	for i, v := range vals {
		row[i] = m.engine.columns[i].json(v)
		if list, ok := row[i].([]any); ok && m.engine.aggregates[i].unordered() {
			row[i] = slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(casefile.Canonical(a), casefile.Canonical(b)) })
		}
	}
	return kind + casefile.Canonical(row)
}

// seen renders a row of an answer as text does.
func (m *Model) seen(kind string, x any) (string, error) {
	row, ok := x.([]any)
	if !ok || len(row) != len(m.engine.columns) {
		return "", fmt.Errorf("row %v: want a list of %d values", x, len(m.engine.columns))
	}
	vals := make([]any, len(row))
	for i, c := range m.engine.columns {
		v, err := c.parse(row[i])
		if err != nil {
			return "", err
		}
		vals[i] = v
	}
	return m.text(kind, vals), nil
}

func (m *Model) texts(changes []change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = m.text(c.kind, c.vals)
	}
	return out
}

// fails tells whether an error is one that the table must give.
func fails(err error) (*FailedError, bool) {
	var f *FailedError
	return f, errors.As(err, &f)
}
