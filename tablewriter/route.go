package tablewriter

import (
	"hash/maphash"
	"sync"

	"sluice/paimon/rowdata"
)

// destination is a bucket of a partition.
type destination struct {
	partition string // row in manifest form
	bucket    int32  // of an append table without buckets: 0
}

// portion is the rows of a batch that go to one bucket, in their order.
type portion struct {
	to  destination
	idx []int32 // nil: all rows of the batch
	n   int
}

// router keeps the scratch memory of routing between batches.
type router struct {
	buckets    []int32
	partitions []int32 // of each row
	row        []byte
	ids        map[string]int32
	names      []string
	dests      []int32 // of each row
	table      []int32
	counts     []int32
}

// denseMax is the number of destinations up to which a table finds the number of
// one; beyond it a map does.
const denseMax = 1 << 16

// route sorts the rows of a batch by destination; rows of a destination keep
// their order.
func (h *shape) route(c *checked, pool *sync.Pool) []portion {
	n := c.rows.N
	if c.keep != nil {
		n = len(c.keep)
	}
	if n == 0 {
		return nil
	}
	r, _ := pool.Get().(*router)
	if r == nil {
		r = &router{ids: map[string]int32{}}
	}
	defer pool.Put(r)
	r.bucket(h, c.rows)
	r.partition(h, c.rows)
	portions := r.number(c.keep, n, max(h.buckets, 1))
	if len(portions) == 1 {
		portions[0].idx = c.keep
		return portions
	}
	all := make([]int32, n)
	at := int32(0)
	for i := range portions {
		end := at + int32(portions[i].n)
		portions[i].idx = all[at:end:end]
		r.counts[i], at = at, end
	}
	for k, d := range r.dests {
		row := int32(k)
		if c.keep != nil {
			row = c.keep[k]
		}
		all[r.counts[d]] = row
		r.counts[d]++
	}
	return portions
}

// bucket computes the bucket of each row of the batch.
func (r *router) bucket(h *shape, rows *rowdata.Changes) {
	r.buckets = r.buckets[:0]
	if h.bucketer == nil || h.buckets == 1 {
		return
	}
	cols := make([]*rowdata.Vector, len(h.bucket))
	for i, c := range h.bucket {
		cols[i] = rows.Cols[c]
	}
	r.buckets = h.bucketer.Buckets(r.buckets, cols, rows.N)
}

// partition numbers the partitions of the batch and finds that of each row.
func (r *router) partition(h *shape, rows *rowdata.Changes) {
	r.partitions, r.names = r.partitions[:0], r.names[:0]
	clear(r.ids)
	if len(h.part) == 0 {
		r.names = append(r.names, string(rowdata.EmptyManifestRow()))
		return
	}
	cols := make([]*rowdata.Vector, len(h.part))
	for i, c := range h.part {
		cols[i] = rows.Cols[c]
	}
	last := int32(-1)
	for i := range rows.N {
		if i > 0 && sameRow(cols, i-1, i) {
			r.partitions = append(r.partitions, last)
			continue
		}
		r.row = rowdata.AppendManifestRow(r.row[:0], cols, i)
		id, ok := r.ids[string(r.row)]
		if !ok {
			id = int32(len(r.names))
			name := string(r.row)
			r.ids[name] = id
			r.names = append(r.names, name)
		}
		r.partitions = append(r.partitions, id)
		last = id
	}
}

func sameRow(cols []*rowdata.Vector, i, j int) bool {
	for _, v := range cols {
		if !rowdata.Equal(v, i, v, j) {
			return false
		}
	}
	return true
}

// number numbers the destinations that rows have, in the order of their first
// rows, and counts the rows of each.
func (r *router) number(keep []int32, n, buckets int) []portion {
	r.dests, r.counts = r.dests[:0], r.counts[:0]
	var portions []portion
	if len(r.names) == 1 && len(r.buckets) == 0 {
		return []portion{{to: destination{partition: r.names[0]}, n: n}}
	}
	size := len(r.names) * buckets
	var sparse map[int]int32
	if size > denseMax {
		sparse = map[int]int32{}
	} else {
		r.table = append(r.table[:0], make([]int32, size)...)
	}
	for k := range n {
		row := k
		if keep != nil {
			row = int(keep[k])
		}
		var p, b int32
		if len(r.partitions) > 0 {
			p = r.partitions[row]
		}
		if len(r.buckets) > 0 {
			b = r.buckets[row]
		}
		slot := int(p)*buckets + int(b)
		var d int32 // its number + 1
		if sparse != nil {
			d = sparse[slot]
		} else {
			d = r.table[slot]
		}
		if d == 0 {
			portions = append(portions, portion{to: destination{partition: r.names[p], bucket: b}})
			r.counts = append(r.counts, 0)
			d = int32(len(portions))
			if sparse != nil {
				sparse[slot] = d
			} else {
				r.table[slot] = d
			}
		}
		r.dests = append(r.dests, d-1)
		portions[d-1].n++
	}
	return portions
}

// shardOf spreads destinations over shards: the buckets of a partition one after
// the other, partitions from different starts.
func shardOf(to destination, seed maphash.Seed, shards int) int {
	return int((maphash.String(seed, to.partition) + uint64(to.bucket)) % uint64(shards))
}
