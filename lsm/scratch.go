package lsm

import (
	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

// Scratch is memory that one compaction leaves for the next, which matters where
// they are small and many. The zero value is ready. It serves one run at a time.
type Scratch struct {
	typ      *rowdata.RowType
	batch    *rowdata.KeyValues
	groups   *merge.Groups
	resolved *merge.Result
	encoders datafile.Encoders
	sorted   *rowdata.KeyValues // of a buffer
	lent     bool               // it is in use
	largest  int                // bytes of a batch of the run
}

// scratchBytesMax bounds the batches whose memory is kept; all of them together
// take a few times as much.
const scratchBytesMax = 2 << 20

// begin readies the memory for records of a type.
func (s *Scratch) begin(t *rowdata.RowType) {
	if s.typ != t {
		s.typ, s.batch = t, rowdata.NewKeyValues(t, 0)
		s.groups, s.resolved = merge.NewGroups(t, merge.Plan{}), merge.NewResult(t)
		s.sorted = nil
	}
	s.lent = false
}

// takeSorted returns memory for the sorted rows of a buffer.
func (s *Scratch) takeSorted() *rowdata.KeyValues {
	if s.lent {
		return rowdata.NewKeyValues(s.typ, 0)
	}
	if s.sorted == nil {
		s.sorted = rowdata.NewKeyValues(s.typ, 0)
	}
	s.lent = true
	return s.sorted
}

// saw notes a batch of the run.
func (s *Scratch) saw(kv *rowdata.KeyValues) { s.largest = max(s.largest, kv.MemSize()) }

// end gives up what is large.
func (s *Scratch) end() {
	if s.largest > scratchBytesMax {
		s.typ, s.batch, s.groups, s.resolved = nil, nil, nil, nil
	}
	s.largest = 0
}
