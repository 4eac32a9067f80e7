package tablewriter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm"
	"sluice/paimon/rowdata"
)

const noLimit = 1 << 40

// TestCheckRows: what semantics section 1.1 says of a row, in its order.
func TestCheckRows(t *testing.T) {
	fields := []string{"k INT NOT NULL", "v STRING NOT NULL DEFAULT 'd'", "w STRING DEFAULT 'x'", "op STRING"}
	for _, tc := range []struct {
		name    string
		options map[string]string
		append  bool
		kinds   string
		rows    [][]any
		want    string // rows kept, or the error
	}{
		{name: "plain", rows: [][]any{{1, "a", "b", nil}}, want: `+I [1,"a","b",null]`},
		{
			name: "kinds", kinds: "-D +U -U +I", rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}, {3, "a", "b", nil}, {4, "a", "b", nil}},
			want: `-D [1,"a","b",null] +U [2,"a","b",null] -U [3,"a","b",null] +I [4,"a","b",null]`,
		},
		{name: "default for NULL", rows: [][]any{{1, "a", nil, nil}, {2, "a", "b", nil}}, want: `+I [1,"a","x",null] +I [2,"a","b",null]`},
		{
			name: "NOT NULL comes before the default", rows: [][]any{{1, "a", "b", nil}, {1, nil, "b", nil}},
			want: "row 1: Cannot write null to non-null column(v)",
		},
		{name: "key", rows: [][]any{{nil, "a", "b", nil}}, want: "row 0: Cannot write null to non-null column(k)"},
		{
			name: "first row and column count", rows: [][]any{{1, "a", "b", nil}, {nil, nil, nil, nil}, {1, nil, "b", nil}},
			want: "row 1: Cannot write null to non-null column(k)",
		},
		{name: "deletes need NOT NULL columns too", kinds: "-D", rows: [][]any{{1, nil, nil, nil}}, want: "row 0: Cannot write null to non-null column(v)"},
		{
			name: "ignore-delete", options: map[string]string{"ignore-delete": "true"}, kinds: "-D +U -U +I",
			rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}, {3, "a", "b", nil}, {4, "a", "b", nil}}, want: `+U [2,"a","b",null] +I [4,"a","b",null]`,
		},
		{
			name: "ignore-delete by its old name", options: map[string]string{"deduplicate.ignore-delete": "true"}, kinds: "-D",
			rows: [][]any{{1, "a", "b", nil}}, want: ``,
		},
		{
			name: "ignore-update-before", options: map[string]string{"ignore-update-before": "true"}, kinds: "-D -U",
			rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}}, want: `-D [1,"a","b",null]`,
		},
		{
			name: "ignored rows are checked", options: map[string]string{"ignore-delete": "true"}, kinds: "-D", rows: [][]any{{1, nil, "b", nil}},
			want: "row 0: Cannot write null to non-null column(v)",
		},
		{
			name: "rowkind.field", options: map[string]string{"rowkind.field": "op"}, kinds: "+I +I", rows: [][]any{{1, "a", "b", "-D"}, {2, "a", "b", "+U"}},
			want: `-D [1,"a","b","-D"] +U [2,"a","b","+U"]`,
		},
		{
			name: "rowkind.field NULL", options: map[string]string{"rowkind.field": "op"}, rows: [][]any{{1, "a", "b", "+I"}, {2, "a", "b", nil}},
			want: "row 1: column op: Row kind cannot be null.",
		},
		{
			name: "rowkind.field nonsense", options: map[string]string{"rowkind.field": "op"}, rows: [][]any{{1, "a", "b", "x"}},
			want: `row 0: column op: row kind "x": want +I, -U, +U or -D`,
		},
		{
			name: "rowkind.field and the filter", options: map[string]string{"rowkind.field": "op", "ignore-delete": "true"}, rows: [][]any{{1, "a", "b", "-D"}, {2, "a", "b", "+I"}},
			want: `+I [2,"a","b","+I"]`,
		},
		{
			name: "rowkind.field and the filter", options: map[string]string{"rowkind.field": "w", "ignore-delete": "true"}, rows: [][]any{{1, "a", "-D", nil}, {2, "a", "+I", nil}},
			want: `+I [2,"a","+I",null]`,
		},
		{name: "append", append: true, kinds: "+I +U", rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}}, want: `+I [1,"a","b",null] +U [2,"a","b",null]`},
		{
			name: "append refuses deletes", append: true, kinds: "+I -D", rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}},
			want: "row 1: Append only writer can not accept row with RowKind -D",
		},
		{
			name: "append ignores deletes", append: true, options: map[string]string{"ignore-delete": "true"}, kinds: "+I -D",
			rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}}, want: `+I [1,"a","b",null]`,
		},
		{
			name: "append refuses what is left", append: true, options: map[string]string{"ignore-update-before": "true"}, kinds: "-U -D",
			rows: [][]any{{1, "a", "b", nil}, {2, "a", "b", nil}}, want: "row 1: Append only writer can not accept row with RowKind -D",
		},
		{name: "no rows", want: ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := map[string]string{"bucket": "1"}
			pk := []string{"k"}
			if tc.append {
				o, pk = map[string]string{}, nil
			}
			s := newSchema(t, fields, pk, nil, o)
			for k, v := range tc.options {
				s.Options[k] = v
			}
			h, err := newShape(s, false)
			require.NoError(t, err)
			in := changes(t, h.typ, tc.kinds, tc.rows...)
			before := text(in, nil)
			c, err := h.check(in, noLimit)
			got := ""
			if err != nil {
				var row *RowError
				require.ErrorAs(t, err, &row)
				got = err.Error()
			} else {
				got = text(c.rows, c.keep)
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, before, text(in, nil), "the batch was changed")
		})
	}
}

func text(c *rowdata.Changes, keep []int32) string {
	out := ""
	show := func(i int) {
		if out != "" {
			out += " "
		}
		out += c.Kind(i).String() + " " + string(rowdata.AppendJSONArray(nil, &c.Batch, i))
	}
	if keep == nil {
		for i := range c.N {
			show(i)
		}
	}
	for _, i := range keep {
		show(int(i))
	}
	return out
}

func TestCheckNestedNulls(t *testing.T) {
	h, err := newShape(newSchema(t, []string{
		"k INT", "r ROW<a INT NOT NULL, b ARRAY<INT NOT NULL>>", "m MAP<STRING, INT NOT NULL>", "x VECTOR<FLOAT, 2>", "l ARRAY<ROW<c INT NOT NULL>>",
	}, nil, nil, nil), false)
	require.NoError(t, err)
	for _, tc := range []struct{ row, want string }{
		{`{"k":1}`, ""},
		{`{"k":1,"r":{"a":1,"b":[1,2]},"m":{"x":1},"x":[1,2],"l":[{"c":1}]}`, ""},
		{`{"k":1,"r":{"a":1,"b":null},"l":[null]}`, ""},
		{`{"r":{"a":null,"b":[1]}}`, "row 1: Cannot write null to non-null column(r.a)"},
		{`{"r":{"a":1,"b":[1,null]}}`, "row 1: Cannot write null to non-null column(r.b.element)"},
		{`{"m":{"x":null}}`, "row 1: Cannot write null to non-null column(m.value)"},
		{`{"l":[{"c":1},{"c":null}]}`, "row 1: Cannot write null to non-null column(l.element.c)"},
	} {
		in := &rowdata.Changes{Batch: *rowdata.NewBatch(h.typ, 0)}
		for _, row := range []string{`{"r":{"a":5,"b":[7]},"m":{"q":2,"r":3}}`, tc.row, `{"r":{"a":1,"b":[9]}}`} {
			require.NoError(t, appendJSON(&in.Batch, row))
		}
		_, err := h.check(in, noLimit)
		got := ""
		if err != nil {
			got = err.Error()
		}
		require.Equal(t, tc.want, got, tc.row)
	}
}

func TestCheckShapeOfBatch(t *testing.T) {
	h, err := newShape(keyed(t, nil), false)
	require.NoError(t, err)
	good := changes(t, h.typ, "+I", []any{1, "a"})
	for _, tc := range []struct {
		name  string
		spoil func(c *rowdata.Changes)
	}{
		{"missing column", func(c *rowdata.Changes) { c.Cols = c.Cols[:1] }},
		{"kinds for other rows", func(c *rowdata.Changes) { c.Kinds = append(c.Kinds, 0) }},
		{"kind that does not exist", func(c *rowdata.Changes) { c.Kinds = []rowdata.RowKind{4} }},
		{"other type", func(c *rowdata.Changes) { c.Cols[0], c.Cols[1] = c.Cols[1], c.Cols[0] }},
		{"short column", func(c *rowdata.Changes) { c.Cols[1] = rowdata.NewVector(c.Cols[1].Type, 0) }},
	} {
		c := *good
		c.Cols = append([]*rowdata.Vector{}, good.Cols...)
		tc.spoil(&c)
		_, err := h.check(&c, noLimit)
		var bad *BatchError
		require.ErrorAs(t, err, &bad, tc.name)
	}
	// A batch whose own type is nullable is fine, and is checked by the table's.
	loose := &rowdata.RowType{Fields: append([]rowdata.Field{}, h.typ.Fields...)}
	loose.Fields[0].Type = loose.Fields[0].Type.Nullable()
	_, err = h.check(changes(t, loose, "", []any{1, "a"}), noLimit)
	require.NoError(t, err)
	_, err = h.check(changes(t, loose, "", []any{1, "a"}, []any{nil, "a"}), noLimit)
	var null *NullError
	require.ErrorAs(t, err, &null)
	require.Equal(t, "k", null.Column)
}

func TestCheckSizeOfRow(t *testing.T) {
	h, err := newShape(keyed(t, nil), false)
	require.NoError(t, err)
	big := string(make([]byte, 5000))
	_, err = h.check(changes(t, h.typ, "", []any{1, "a"}, []any{2, big}, []any{3, big}), 4096)
	var row *RowError
	require.ErrorAs(t, err, &row)
	require.Equal(t, 1, row.Row)
	var large *lsm.TooLargeError
	require.ErrorAs(t, err, &large)
	rows := make([][]any, 500)
	for i := range rows {
		rows[i] = []any{i, "abc"}
	}
	_, err = h.check(changes(t, h.typ, "", rows...), 4096)
	require.NoError(t, err, "a batch may be larger than the buffer")
}

// TestRoute: portions are the rows kept, each once, in order, where they belong.
func TestRoute(t *testing.T) {
	for _, buckets := range []int{1, 3, 70_000} {
		for _, partitioned := range []bool{false, true} {
			t.Run(fmt.Sprintf("buckets=%d,partitioned=%v", buckets, partitioned), func(t *testing.T) {
				pk, part := []string{"k"}, []string(nil)
				if partitioned {
					pk, part = []string{"p", "q", "k"}, []string{"p", "q"}
				}
				h, err := newShape(newSchema(t, []string{"k INT", "p STRING", "q INT"}, pk, part,
					map[string]string{"bucket": fmt.Sprint(buckets), "ignore-delete": "true"}), false)
				require.NoError(t, err)
				var rows [][]any
				kinds := ""
				for i := range 500 {
					rows = append(rows, []any{i * 7919 % 1000, fmt.Sprint("p", i/7%5), i % 2})
					kinds += []string{"+I ", "+U ", "-D "}[i%3]
				}
				c, err := h.check(changes(t, h.typ, kinds, rows...), noLimit)
				require.NoError(t, err)
				w := &Writer{}
				for range 2 { // with fresh and with used scratch memory
					portions := h.route(&c, &w.routers)
					seen := map[int32]bool{}
					for _, p := range portions {
						require.Equal(t, p.n, len(p.idx))
						last := int32(-1)
						for _, i := range p.idx {
							require.Greater(t, i, last)
							last = i
							require.False(t, seen[i])
							seen[i] = true
							require.True(t, c.rows.Kind(int(i)).IsAdd())
							require.Equal(t, h.bucketer.Bucket(c.rows.Cols[:1], int(i)), int(p.to.bucket))
							var cols []*rowdata.Vector
							for _, col := range h.part {
								cols = append(cols, c.rows.Cols[col])
							}
							require.Equal(t, string(rowdata.AppendManifestRow(nil, cols, int(i))), p.to.partition)
						}
					}
					require.Len(t, seen, len(c.keep))
				}
			})
		}
	}
}

func TestRouteOneDestination(t *testing.T) {
	h, err := newShape(newSchema(t, []string{"k INT"}, nil, nil, nil), false)
	require.NoError(t, err)
	c, err := h.check(changes(t, h.typ, "", []any{1}, []any{2}), noLimit)
	require.NoError(t, err)
	w := &Writer{}
	portions := h.route(&c, &w.routers)
	require.Equal(t, []portion{{to: destination{partition: string(rowdata.EmptyManifestRow())}, n: 2}}, portions)
	c.keep = []int32{}
	require.Empty(t, h.route(&c, &w.routers))
}
