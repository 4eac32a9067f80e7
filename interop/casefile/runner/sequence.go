package runner

import (
	"context"
	"errors"
	"io"

	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// sequences notes the internal sequence numbers in the changelog files of each
// snapshot that has any.
func (r *runner) sequences(ctx context.Context, latest int64) error {
	for id := int64(1); id <= latest; id++ {
		s, err := r.table.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		entries, err := r.table.ChangelogEntries(ctx, s)
		if err != nil {
			return err
		}
		var all []int64
		for i := range entries {
			seqs, err := r.sequencesOf(ctx, &entries[i])
			if err != nil {
				return err
			}
			all = append(all, seqs...)
		}
		if all != nil {
			r.a.Sequence = append(r.a.Sequence, all)
		}
	}
	return nil
}

func (r *runner) sequencesOf(ctx context.Context, e *manifest.Entry) (out []int64, err error) {
	err = r.eachRow(ctx, e, func(kv *rowdata.KeyValues) error {
		out = append(out, kv.Seq...)
		return nil
	})
	return out, err
}

// eachRow calls f with the rows of a file, batch by batch.
func (r *runner) eachRow(ctx context.Context, e *manifest.Entry, f func(kv *rowdata.KeyValues) error) error {
	src, err := r.o.Store.Open(ctx, r.table.BucketPath(e.Partition, int(e.Bucket))+"/"+e.File.FileName)
	if err != nil {
		return err
	}
	defer src.Close()
	schema, err := r.table.SchemaByID(ctx, e.File.SchemaID)
	if err != nil {
		return err
	}
	file, err := datafile.Open(src, src.Size(), e.File.FileName, datafile.ReadSpec{Want: schema.RowType(), File: schema.RowType(), System: true})
	if err != nil {
		return err
	}
	defer file.Close()
	kv := rowdata.NewKeyValues(schema.RowType(), 0)
	for {
		_, err := file.Next(kv)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(kv)
		}
		if err != nil {
			return err
		}
	}
}
