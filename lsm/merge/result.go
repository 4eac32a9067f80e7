package merge

import "sluice/paimon/rowdata"

// Result is what a changelog producer makes of a batch of [Groups]. It is reused
// from batch to batch.
type Result struct {
	// Data is what is to be written at the output level: at most one record a key,
	// in key order. It may be the memory of the batch that it is made of, see
	// [Result.Share].
	Data *rowdata.KeyValues
	// Changelog is the changes, in key order: +I, -D, or -U directly followed by
	// its +U.
	Changelog *rowdata.KeyValues
	// Index is what changes in an index of the newest record above level 0 of each
	// key, in key order. Keys whose newest record stays the same are not in it.
	Index []IndexChange

	own *rowdata.KeyValues // Data, unless it is shared
}

// IndexChange says that rows From..To (exclusive) of Result.Data are now the
// newest records above level 0 of their keys or, with Delete, that the keys of
// records From..To of Groups.Records have none any more.
type IndexChange struct {
	From, To int32
	Delete   bool
}

// NewResult returns an empty result for records of type t.
func NewResult(t *rowdata.RowType) *Result {
	own := rowdata.NewKeyValues(t, 0)
	return &Result{Data: own, Changelog: rowdata.NewKeyValues(t, 0), own: own}
}

// Reset empties the result and keeps its memory.
func (r *Result) Reset() {
	r.Data = r.own
	r.Data.Reset()
	r.Changelog.Reset()
	r.Index = r.Index[:0]
}

// Share makes Data the batch itself, which holds just what is to be written, until
// the next Reset.
func (r *Result) Share(kv *rowdata.KeyValues) { r.Data = kv }

// Put adds row i of Data, which may not have been appended yet, to the index.
func (r *Result) Put(i int32) {
	r.change(i, false)
}

// Delete takes the key of record i of the groups out of the index.
func (r *Result) Delete(i int32) {
	r.change(i, true)
}

func (r *Result) change(i int32, del bool) {
	if n := len(r.Index); n > 0 {
		if last := &r.Index[n-1]; last.Delete == del && last.To == i {
			last.To++
			return
		}
	}
	r.Index = append(r.Index, IndexChange{From: i, To: i + 1, Delete: del})
}
