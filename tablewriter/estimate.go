package tablewriter

import (
	"cmp"

	"sluice/lsm"
)

const (
	// inflation is how much larger rows are in memory than in a file, about.
	inflation = 4
	// pageBytesMax is a page of a column as it is read or encoded.
	pageBytesMax = 1 << 20
	// batchBytesMax is a batch of merged records.
	batchBytesMax = 8 << 20
	// groupBytesMax is what a file holds in memory before it writes it: a row group
	// of Parquet, at its default size.
	groupBytesMax = 128 << 20
	// mergeRunsMax is how many runs a compaction merges at once unless the table
	// says otherwise.
	mergeRunsMax = 64
)

// compactionBytes estimates what running a compaction holds in memory: of each run
// that is merged a batch of records and the open pages, and twice, for data and
// changelog, a batch of results and the open row group. Steps follow one another,
// so the greatest counts. Write buffers have a bound of their own.
func (h *shape) compactionBytes(c *lsm.Compaction) int64 {
	most := int64(0)
	for i := range c.Steps {
		most = max(most, h.stepBytes(&c.Steps[i]))
	}
	return most
}

func (h *shape) stepBytes(s *lsm.Step) int64 {
	if s.File != nil {
		if !s.Report {
			return 0
		}
		return h.runBytes([]*lsm.File{s.File}) + h.outputBytes(s.File.FileSize)
	}
	// Sections are open one after the other: run n of each is one source.
	var runs []int64
	input := int64(0)
	for _, section := range s.Sections {
		n := 0
		for _, run := range section {
			if run.Buffer != nil {
				input += run.Buffer.Bytes
				continue
			}
			if n == len(runs) {
				runs = append(runs, 0)
			}
			runs[n] = max(runs[n], h.runBytes(run.Files))
			for _, f := range run.Files {
				input += f.FileSize
			}
			n++
		}
	}
	// More are merged in passes.
	sum := int64(0)
	for _, bytes := range runs[:min(len(runs), cmp.Or(h.mergeRuns, mergeRunsMax))] {
		sum += bytes
	}
	return sum + h.outputBytes(input)
}

// runBytes is what reading a run takes: one of its files at a time.
func (h *shape) runBytes(files []*lsm.File) int64 {
	most := int64(0)
	for _, f := range files {
		inMemory := f.FileSize * inflation
		batch := inMemory
		if f.RowCount > readBatchRows {
			batch = inMemory / f.RowCount * readBatchRows
		}
		most = max(most, batch+min(inMemory, int64(len(h.cols))*pageBytesMax))
	}
	return most
}

// outputBytes is what writing takes; input is the size of what is read.
func (h *shape) outputBytes(input int64) int64 {
	one := min(input*inflation, batchBytesMax) + min(input, groupBytesMax)
	if h.silent {
		return one
	}
	return 2 * one
}
