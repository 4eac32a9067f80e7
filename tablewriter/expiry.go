package tablewriter

import (
	"slices"
	"time"

	"sluice/lsm"
	"sluice/paimon/rowdata"
)

// expireAt makes now the time that records of the bucket are compared with, where
// the table says that old ones are not kept (record-level.expire-time): it is one
// time for all of a compaction.
func (h *shape) expireAt(b *bucket, now time.Time) {
	if h.expiry != nil {
		b.expired = h.expiry.Before(now)
	}
}

// isExpired is the test of the compaction that is about to run or runs.
func (b *bucket) isExpired(kv *rowdata.KeyValues, i int) bool { return b.expired(kv, i) }

// compactionAt returns the options of a compaction that begins now.
func (h *shape) compactionAt(now time.Time) lsm.CompactionOptions {
	o := h.compaction
	if h.expiry != nil {
		o.Expired = func(f *lsm.File) bool { return h.hasExpired(f, now) }
	}
	return o
}

// rewritesAt tells which files of the highest level a full compaction writes again;
// nil: none.
func (h *shape) rewritesAt(now time.Time) func(*lsm.File) bool {
	switch {
	case h.compaction.ForceRewrite:
		return func(*lsm.File) bool { return true }
	case h.expiry != nil:
		return func(f *lsm.File) bool { return h.hasExpired(f, now) }
	}
	return nil
}

// hasExpired tells by its statistics that a file has records that are too old. A
// file that does not say, or of an older schema, has none as far as is known.
func (h *shape) hasExpired(f *lsm.File, now time.Time) bool {
	if f.SchemaID != h.schema.ID || len(f.ValueStats.Min) == 0 {
		return false
	}
	name := h.typ.Fields[h.expiry.Column()].Name
	names := h.typ.Names()
	if f.HasValueStatsCols {
		names = f.ValueStatsCols
	}
	at := slices.Index(names, name)
	if at < 0 {
		return false
	}
	least := make([]*rowdata.Vector, len(names))
	for i, n := range names {
		c := h.typ.Index(n)
		if c < 0 {
			return false
		}
		least[i] = rowdata.NewVector(h.typ.Fields[c].Type.Nullable(), 1)
	}
	if rowdata.DecodeManifestRow(f.ValueStats.Min, least) != nil {
		return false
	}
	return h.expiry.HasBefore(now, least[at], 0)
}
