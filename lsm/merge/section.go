package merge

import (
	"container/heap"
	"slices"

	"sluice/paimon/rowdata"
)

// Section is a set of files whose key range overlaps that of no file outside of
// it (format section 15.2).
type Section struct {
	// Runs are the sorted runs of the section, each the positions of files
	// that do not overlap, in key order. One run needs no merge between files.
	Runs [][]int
}

// Sections partitions files by their key ranges: row i of minKeys and maxKeys
// holds the least and the greatest key of file i. Sections come in key order.
// Inside a section files are chained greedily into as few sorted runs as the
// overlap allows; files with equal ranges keep their order, run by run.
func Sections(minKeys, maxKeys *rowdata.Batch, key *rowdata.Comparer) []Section {
	order := make([]int, minKeys.N)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if c := key.Compare(minKeys, i, minKeys, j); c != 0 {
			return c
		}
		return key.Compare(maxKeys, i, maxKeys, j)
	})
	var out []Section
	for from := 0; from < len(order); {
		to, greatest := from+1, order[from]
		for ; to < len(order) && key.Compare(minKeys, order[to], maxKeys, greatest) <= 0; to++ {
			if key.Compare(maxKeys, order[to], maxKeys, greatest) > 0 {
				greatest = order[to]
			}
		}
		out = append(out, Section{Runs: chain(order[from:to], minKeys, maxKeys, key)})
		from = to
	}
	return out
}

// chain puts each file behind the run that ends first, if it ends before the
// file begins, and else into a run of its own.
func chain(files []int, minKeys, maxKeys *rowdata.Batch, key *rowdata.Comparer) [][]int {
	ends := &runEnds{maxKeys: maxKeys, key: key}
	for _, f := range files {
		if len(ends.order) > 0 {
			first := ends.order[0]
			run := ends.runs[first]
			if key.Compare(minKeys, f, maxKeys, run[len(run)-1]) > 0 {
				ends.runs[first] = append(run, f)
				heap.Fix(ends, 0)
				continue
			}
		}
		ends.runs = append(ends.runs, []int{f})
		heap.Push(ends, len(ends.runs)-1)
	}
	return ends.runs
}

// runEnds is a heap of runs by their greatest key.
type runEnds struct {
	runs    [][]int
	order   []int // positions in runs
	maxKeys *rowdata.Batch
	key     *rowdata.Comparer
}

func (h *runEnds) Len() int { return len(h.order) }
func (h *runEnds) Less(i, j int) bool {
	a, b := h.runs[h.order[i]], h.runs[h.order[j]]
	if c := h.key.Compare(h.maxKeys, a[len(a)-1], h.maxKeys, b[len(b)-1]); c != 0 {
		return c < 0
	}
	return h.order[i] < h.order[j]
}
func (h *runEnds) Swap(i, j int) { h.order[i], h.order[j] = h.order[j], h.order[i] }
func (h *runEnds) Push(x any)    { h.order = append(h.order, x.(int)) }
func (h *runEnds) Pop() any {
	last := h.order[len(h.order)-1]
	h.order = h.order[:len(h.order)-1]
	return last
}
