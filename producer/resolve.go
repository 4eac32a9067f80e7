package producer

import (
	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// Batches that records are taken from.
const (
	inGroups  = iota // Groups.Records
	inHits           // what the index answered
	inBuilt          // what the engine built
	batchKind        // how many there are
)

// ref names a record of one of the batches; row -1 is none.
type ref struct {
	batch int32
	row   int32
}

var nothing = ref{row: -1}

func (r ref) ok() bool { return r.row >= 0 }

// change is a row of the changelog to be.
type change struct {
	ref
	kind rowdata.RowKind
}

// resolver is what the producers have in common: the engine, and the results
// as stretches of the batches that are copied together at the end, a column at a
// time.
type resolver struct {
	opts    Options
	dedup   bool // Engine.Keep is Deduplicate, with these deletes ignored
	ignores bool
	folder  merge.Folder
	built   *rowdata.KeyValues
	batches [batchKind]*rowdata.KeyValues

	data    []merge.Stretch
	rows    int32 // in data
	changes []change
	equal   []bool // of pairs, with row-deduplicate
	compare []int  // columns that decide it
	gather  merge.Gatherer
	tell    []merge.Stretch
}

func newResolver(o Options) resolver {
	r := resolver{opts: o}
	if d, ok := o.Engine.Keep.(merge.Deduplicate); ok {
		r.dedup, r.ignores = true, d.IgnoreDelete
	}
	if o.Engine.Build != nil {
		r.folder = o.Engine.Build()
	}
	return r
}

// begin prepares for a batch.
func (r *resolver) begin(g *merge.Groups, out *merge.Result) {
	out.Reset()
	if r.folder != nil && r.built == nil {
		r.built = rowdata.NewKeyValues(g.Records.Type, 0)
	}
	if r.built != nil {
		r.built.Reset()
	}
	r.batches = [batchKind]*rowdata.KeyValues{inGroups: g.Records, inBuilt: r.built}
	r.data, r.rows, r.changes = r.data[:0], 0, r.changes[:0]
}

// kind returns the kind of a record.
func (r *resolver) kind(x ref) rowdata.RowKind { return r.batches[x.batch].Kinds[x.row] }

// isAdd tells whether there is a record, and it is of a row that exists.
func (r *resolver) isAdd(x ref) bool { return x.ok() && r.kind(x).IsAdd() }

// write adds a record to what is stored. It returns its row in Result.Data.
func (r *resolver) write(x ref) int32 {
	r.data = merge.AppendStretch(r.data, x.batch, x.row, x.row+1)
	r.rows++
	return r.rows - 1
}

// report adds what the change from before to after is in the changelog (semantics
// section 4.3).
func (r *resolver) report(before, after ref) {
	if r.opts.Silent {
		return
	}
	was, is := r.isAdd(before), r.isAdd(after)
	switch {
	case was && is:
		r.changes = append(r.changes, change{before, rowdata.UpdateBefore}, change{after, rowdata.UpdateAfter})
	case was:
		r.changes = append(r.changes, change{before, rowdata.Delete})
	case is:
		r.changes = append(r.changes, change{after, rowdata.Insert})
	}
}

// finish copies the results.
func (r *resolver) finish(out *merge.Result) {
	if all := r.whole(); all != nil {
		out.Share(all)
	} else {
		r.gather.Append(out.Data, r.batches[:], r.data)
	}
	if r.opts.RowDeduplicate {
		r.dropEqual()
	}
	if len(r.changes) == 0 {
		return
	}
	r.tell = r.tell[:0]
	for _, c := range r.changes {
		r.tell = merge.AppendStretch(r.tell, c.batch, c.row, c.row+1)
	}
	from := out.Changelog.N
	r.gather.Append(out.Changelog, r.batches[:], r.tell)
	kinds := out.Changelog.Kinds[from:]
	for i, c := range r.changes {
		kinds[i] = c.kind
	}
}

// whole returns the batch that is stored as it stands, with all of its records; nil
// if there is none.
func (r *resolver) whole() *rowdata.KeyValues {
	if len(r.data) != 1 {
		return nil
	}
	s := r.data[0]
	if b := r.batches[s.Batch]; s.From == 0 && int(s.To) == b.N {
		return b
	}
	return nil
}

// dropEqual takes out the pairs whose rows are equal.
func (r *resolver) dropEqual() {
	if r.compare == nil {
		r.compare = comparedColumns(len(r.batches[inGroups].Cols), r.opts.Ignore)
	}
	r.equal = r.equal[:0]
	for i, c := range r.changes {
		second := i > 0 && r.changes[i-1].kind == rowdata.UpdateBefore
		r.equal = append(r.equal, c.kind == rowdata.UpdateBefore || second)
	}
	for _, col := range r.compare {
		for i := range r.changes {
			if !r.equal[i] || r.changes[i].kind != rowdata.UpdateBefore {
				continue
			}
			a, b := r.changes[i], r.changes[i+1]
			if !same(r.batches[a.batch].Cols[col], int(a.row), r.batches[b.batch].Cols[col], int(b.row)) {
				r.equal[i], r.equal[i+1] = false, false
			}
		}
	}
	kept := r.changes[:0]
	for i, c := range r.changes {
		if !r.equal[i] {
			kept = append(kept, c)
		}
	}
	r.changes = kept
}

// comparedColumns returns the positions of n columns but for those ignored.
func comparedColumns(n int, ignore []int) []int {
	ignored := make([]bool, n)
	for _, c := range ignore {
		ignored[c] = true
	}
	cols := make([]int, 0, n)
	for c := range n {
		if !ignored[c] {
			cols = append(cols, c)
		}
	}
	return cols
}
