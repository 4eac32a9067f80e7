package maintenance

import (
	"context"
	"time"

	"sluice/paimon"
)

// Due tells what [ExpireDue] removed.
type Due struct {
	Consumers  []string
	Snapshots  *Expired
	Changelogs *Expired // nil if changelogs do not live longer than snapshots
	Tags       []string
}

// ExpireDue expires whatever the options of the table say is due at a time:
// consumers first, since they hold snapshots, then snapshots, long-lived
// changelogs and tags. It is what a writer that is not write-only runs after its
// commits. On an error it returns what was done until then.
func ExpireDue(ctx context.Context, t *paimon.Table, now time.Time) (*Due, error) {
	d := &Due{}
	var err error
	if d.Consumers, err = ExpireConsumers(ctx, t, now); err != nil {
		return d, err
	}
	o := ExpireOptions{Now: func() time.Time { return now }}
	if d.Snapshots, err = ExpireSnapshots(ctx, t, o); err != nil {
		return d, err
	}
	decoupled, err := t.Options().ChangelogDecoupled()
	if err != nil {
		return d, err
	}
	if decoupled {
		if d.Changelogs, err = ExpireChangelogs(ctx, t, o); err != nil {
			return d, err
		}
	}
	d.Tags, err = ExpireTags(ctx, t, now)
	return d, err
}
