package lsm

import (
	"context"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

// ChangelogProducer is what this package needs of a changelog producer.
type ChangelogProducer interface {
	// Wants tells whether a step must write changelog.
	Wants(p merge.Plan) bool
}

// Files say how one kind of files is made.
type Files struct {
	Options datafile.Options
	// Name returns a name that was never used before, without extension.
	Name func() string
}

// Table is what all buckets of a table have in common. It is not changed once
// a writer uses it.
type Table struct {
	Layout datafile.Layout // of data files
	// The rest is for tables with a primary key.
	Order     merge.Order
	Engine    merge.Engine
	Producer  ChangelogProducer
	Changelog Files
	Data      Files
}

// Create begins a file of a bucket under its full name.
type Create func(ctx context.Context, name string) (datafile.Sink, error)

func (t *Table) ordering() *ordering {
	return &ordering{key: rowdata.NewComparer(t.Layout.Key), order: t.Order}
}
