package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/paimon"
)

// DeleteTag deletes a tag and, if its snapshot has expired, the files that only
// the tag kept (format section 12.4). The tag goes first: if the rest fails, the
// files are orphans. [paimon.ErrTagNotFound].
func DeleteTag(ctx context.Context, t *paimon.Table, name string) error {
	tag, err := t.Tag(ctx, name)
	if err != nil {
		return err
	}
	d, err := planTag(ctx, t, tag)
	if err == nil {
		err = t.DeleteTag(ctx, name)
	}
	if err == nil {
		err = d.delete(ctx, t.Store)
	}
	if err != nil {
		return fmt.Errorf("delete tag %q of table %s: %w", name, t.Path, err)
	}
	return nil
}

// planTag finds the files that only the tag needs.
func planTag(ctx context.Context, t *paimon.Table, tag *paimon.Tag) (*doomed, error) {
	d := newDoomed()
	id := tag.Snapshot.ID
	exists, err := t.SnapshotExists(ctx, id)
	if err != nil || exists {
		return d, err
	}
	tags, err := t.Tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range tags {
		if other.Snapshot.ID == id && other.Name != tag.Name {
			return d, nil
		}
	}
	if err := eachMeta(ctx, t, tag.Snapshot, partState, remains, d.addMeta); err != nil {
		return nil, err
	}
	if err := eachLive(ctx, t, tag.Snapshot, d.data.add); err != nil {
		return nil, err
	}
	for _, other := range tags {
		if other.Name != tag.Name {
			if err := d.spareState(ctx, t, other.Snapshot); err != nil {
				return nil, fmt.Errorf("tag %s: %w", other.Name, err)
			}
		}
	}
	// What the snapshots need is what the first one needs of what was there before it.
	earliest, err := t.EarliestSnapshot(ctx)
	if err == nil {
		err = eachMeta(ctx, t, earliest, partAll, strict, d.spareMeta)
		if err == nil {
			err = eachLive(ctx, t, earliest, d.data.spare)
		}
	}
	if err != nil && !errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, err
	}
	if err := d.spareChangelogs(ctx, t, nil); err != nil {
		return nil, err
	}
	return d, d.spareBranches(ctx, t)
}

// ExpireTags deletes the tags whose time to live is over and returns their
// names.
func ExpireTags(ctx context.Context, t *paimon.Table, now time.Time) ([]string, error) {
	tags, err := t.Tags(ctx)
	if err != nil {
		return nil, fmt.Errorf("expire tags of table %s: %w", t.Path, err)
	}
	var gone []string
	for _, tag := range tags {
		at, ok := tag.ExpiresAt()
		if !ok || !at.Before(now) {
			continue
		}
		if err := DeleteTag(ctx, t, tag.Name); err != nil && !errors.Is(err, paimon.ErrTagNotFound) {
			return gone, err
		}
		gone = append(gone, tag.Name)
	}
	return gone, nil
}

// ExpireConsumers deletes the consumers whose position was not stored for the
// option consumer.expiration-time, and returns their ids. Without the option
// none expires.
func ExpireConsumers(ctx context.Context, t *paimon.Table, now time.Time) ([]string, error) {
	if !t.Options().Has(paimon.OptConsumerExpirationTime) {
		return nil, nil
	}
	age, err := t.Options().Duration(paimon.OptConsumerExpirationTime)
	if err != nil {
		return nil, err
	}
	consumers, err := t.Consumers(ctx)
	if err != nil {
		return nil, fmt.Errorf("expire consumers of table %s: %w", t.Path, err)
	}
	var gone []string
	for _, c := range consumers {
		if now.Sub(c.ModTime) <= age {
			continue
		}
		if err := t.DeleteConsumer(ctx, c.ID); err != nil {
			return gone, err
		}
		gone = append(gone, c.ID)
	}
	return gone, nil
}
