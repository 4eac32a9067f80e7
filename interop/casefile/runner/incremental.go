package runner

import (
	"context"
	"fmt"

	"sluice/interop/casefile"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// incremental does the batch reads of ranges that a case has: start exclusive, end
// inclusive (semantics section 6.6).
func (r *runner) incremental(ctx context.Context, latest int64) error {
	for _, in := range r.c.Reads {
		from, to := in.Between[0]+1, min(in.Between[1], latest)
		got := []casefile.Change{}
		var err error
		switch in.Mode {
		case "", "auto", "changelog": // without a producer the stream is the delta
			if from <= to {
				got, err = r.changes(ctx, from, to)
			}
		case "delta":
			got, err = r.delta(ctx, from, to)
		default:
			err = &UnbuiltError{"incremental read of mode " + in.Mode}
		}
		if err != nil {
			return fmt.Errorf("read between %v: %w", in.Between, err)
		}
		r.a.Reads = append(r.a.Reads, got)
	}
	return nil
}

// delta reads the files that APPEND snapshots added, unmerged.
func (r *runner) delta(ctx context.Context, from, to int64) ([]casefile.Change, error) {
	out := []casefile.Change{}
	for id := from; id <= to; id++ {
		s, err := r.table.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if s.CommitKind != paimon.CommitAppend {
			continue
		}
		entries, err := r.table.DeltaEntries(ctx, s)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			if entries[i].Kind != manifest.Add {
				continue
			}
			err := r.eachRow(ctx, &entries[i], func(kv *rowdata.KeyValues) error {
				for k := range kv.N {
					row, err := casefile.Decode(rowdata.AppendJSONArray(nil, &kv.Batch, k))
					if err != nil {
						return err
					}
					out = append(out, casefile.Change{Kind: kv.Kinds[k].String(), Row: row})
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
