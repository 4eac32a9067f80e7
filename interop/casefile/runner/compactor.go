package runner

import (
	"context"
	"errors"
	"path/filepath"

	"sluice/interop/casefile"
	"sluice/tablewriter"
)

// compactor is a compaction job that runs once beside the writer, as a process of
// its own would: with indexes of its own, which it finds again the next time. It
// compacts all buckets, fully if the step says so.
func (r *runner) compactor(ctx context.Context, s casefile.Step) (err error) {
	job, err := tablewriter.OpenJob(ctx, r.table, tablewriter.JobOptions{
		Full: s.Compact == "full",
		Writer: tablewriter.Options{
			User: "case-compactor", Shards: 1, LookupDir: filepath.Join(r.env.dir, "job"),
			Compactions: r.env.compactions, StallWait: -1,
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close(ctx)) }()
	_, err = job.Run(ctx)
	return err
}
