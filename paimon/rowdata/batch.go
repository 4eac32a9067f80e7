package rowdata

// Batch is rows of one row type, in columns.
type Batch struct {
	Type *RowType
	Cols []*Vector
	N    int // rows; every column has as many
}

// NewBatch returns an empty batch with room for capacity rows.
func NewBatch(t *RowType, capacity int) *Batch {
	b := &Batch{Type: t, Cols: make([]*Vector, len(t.Fields))}
	for i := range t.Fields {
		b.Cols[i] = NewVector(t.Fields[i].Type, capacity)
	}
	return b
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.N = 0
	for _, c := range b.Cols {
		c.Reset()
	}
}

// CloseRow counts a row whose values have been appended to each column.
func (b *Batch) CloseRow() { b.N++ }

// AppendFrom appends row i of src, whose columns have the same storage.
func (b *Batch) AppendFrom(src *Batch, i int) {
	for c, v := range b.Cols {
		v.AppendFrom(src.Cols[c], i)
	}
	b.N++
}

// AppendRange appends rows from..to (exclusive) of src.
func (b *Batch) AppendRange(src *Batch, from, to int) {
	for c, v := range b.Cols {
		v.AppendRange(src.Cols[c], from, to)
	}
	b.N += to - from
}

// Gather appends the rows of src at the positions idx, in that order.
func (b *Batch) Gather(src *Batch, idx []int32) {
	for c, v := range b.Cols {
		v.Gather(src.Cols[c], idx)
	}
	b.N += len(idx)
}

// Project returns a batch that shares the columns at the given positions.
func (b *Batch) Project(cols []int) *Batch {
	p := &Batch{Type: b.Type.Project(cols), Cols: make([]*Vector, len(cols)), N: b.N}
	for i, c := range cols {
		p.Cols[i] = b.Cols[c]
	}
	return p
}

// MemSize returns about how many bytes the rows take in memory.
func (b *Batch) MemSize() int {
	size := 0
	for _, c := range b.Cols {
		size += c.MemSize()
	}
	return size
}

// Changes is a batch with a kind for each row: what a feed delivers.
type Changes struct {
	Kinds []RowKind // one a row; nil: all Insert
	Batch
}

// Reset empties the batch and keeps its memory.
func (c *Changes) Reset() {
	c.Kinds = c.Kinds[:0]
	c.Batch.Reset()
}

// Kind returns the kind of row i.
func (c *Changes) Kind(i int) RowKind {
	if c.Kinds == nil {
		return Insert
	}
	return c.Kinds[i]
}

// KeyValues is a batch of records of a primary-key table: all columns of the
// table with the kind and the sequence number of each record (format section
// 9.1). The key is not stored twice: it is the columns of the trimmed primary
// key among the values.
type KeyValues struct {
	Seq   []int64
	Kinds []RowKind
	Batch
}

// NewKeyValues returns an empty batch with room for capacity rows.
func NewKeyValues(t *RowType, capacity int) *KeyValues {
	return &KeyValues{Seq: make([]int64, 0, capacity), Kinds: make([]RowKind, 0, capacity), Batch: *NewBatch(t, capacity)}
}

// Reset empties the batch and keeps its memory.
func (kv *KeyValues) Reset() {
	kv.Seq, kv.Kinds = kv.Seq[:0], kv.Kinds[:0]
	kv.Batch.Reset()
}

// AppendFrom appends record i of src.
func (kv *KeyValues) AppendFrom(src *KeyValues, i int) {
	kv.Seq, kv.Kinds = append(kv.Seq, src.Seq[i]), append(kv.Kinds, src.Kinds[i])
	kv.Batch.AppendFrom(&src.Batch, i)
}

// AppendRange appends records from..to (exclusive) of src.
func (kv *KeyValues) AppendRange(src *KeyValues, from, to int) {
	kv.Seq, kv.Kinds = append(kv.Seq, src.Seq[from:to]...), append(kv.Kinds, src.Kinds[from:to]...)
	kv.Batch.AppendRange(&src.Batch, from, to)
}

// Gather appends the records of src at the positions idx, in that order.
func (kv *KeyValues) Gather(src *KeyValues, idx []int32) {
	kv.Seq, kv.Kinds = gather(kv.Seq, src.Seq, idx), gather(kv.Kinds, src.Kinds, idx)
	kv.Batch.Gather(&src.Batch, idx)
}
