package paimon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/objstore"
)

// Consumer is the stored position of a reader (format section 3.7). Snapshots
// from NextSnapshot on do not expire while it exists.
type Consumer struct {
	ID           string
	NextSnapshot int64     // the first one that is still needed
	ModTime      time.Time // when the position was last stored
}

type consumerJSON struct {
	NextSnapshot *int64 `json:"nextSnapshot"`
}

func parseConsumer(data []byte) (int64, error) {
	var w consumerJSON
	if err := unmarshalOne(bytes.TrimSpace(data), &w); err != nil {
		return 0, fmt.Errorf("consumer: %w: %w", ErrCorrupt, err)
	}
	if w.NextSnapshot == nil {
		return 0, fmt.Errorf("consumer: key nextSnapshot is missing: %w", ErrCorrupt)
	}
	return *w.NextSnapshot, nil
}

// Consumers returns all consumers in order of their ids. One that is deleted
// meanwhile may be missing.
func (t *Table) Consumers(ctx context.Context) ([]Consumer, error) {
	ids, err := t.listNames(ctx, t.branchDir()+"/consumer", "consumer-")
	if err != nil {
		return nil, err
	}
	consumers := make([]Consumer, 0, len(ids))
	for _, id := range ids {
		c, err := t.Consumer(ctx, id)
		if errors.Is(err, ErrConsumerNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		consumers = append(consumers, c)
	}
	return consumers, nil
}

// Consumer returns the consumer of that id. [ErrConsumerNotFound].
func (t *Table) Consumer(ctx context.Context, id string) (Consumer, error) {
	if err := checkComponent("consumer", id); err != nil {
		return Consumer{}, err
	}
	name := t.ConsumerPath(id)
	next, err := readParsed(ctx, t, name, parseConsumer)
	var info objstore.Info
	if err == nil {
		info, err = t.Store.Stat(ctx, name)
	}
	if errors.Is(err, objstore.ErrNotExist) {
		return Consumer{}, fmt.Errorf("consumer %q of table %s: %w: %w", id, t.Path, ErrConsumerNotFound, err)
	}
	if err != nil {
		return Consumer{}, fmt.Errorf("consumer %q of table %s: %w", id, t.Path, err)
	}
	return Consumer{ID: id, NextSnapshot: next, ModTime: info.ModTime}, nil
}

// SetConsumer stores the position of a consumer, whether it exists or not. It is
// durable on return.
func (t *Table) SetConsumer(ctx context.Context, id string, next int64) error {
	if err := checkComponent("consumer", id); err != nil {
		return err
	}
	if next < FirstSnapshotID {
		return fmt.Errorf("consumer %q of table %s: next snapshot %d, want at least %d", id, t.Path, next, FirstSnapshotID)
	}
	data, err := marshalIndented(consumerJSON{NextSnapshot: &next})
	if err != nil {
		return fmt.Errorf("consumer %q of table %s: %w", id, t.Path, err)
	}
	if err := t.Store.Put(ctx, t.ConsumerPath(id), data); err != nil {
		return fmt.Errorf("consumer %q of table %s: %w", id, t.Path, err)
	}
	return nil
}

// ResetConsumer moves an existing consumer to a snapshot that can be read or
// that comes next. [ErrConsumerNotFound], [ErrSnapshotNotFound].
func (t *Table) ResetConsumer(ctx context.Context, id string, next int64) error {
	if _, err := t.Consumer(ctx, id); err != nil {
		return err
	}
	var earliest, latest int64
	earliest, err := t.EarliestID(ctx)
	if err == nil {
		latest, err = t.LatestID(ctx)
	}
	if err != nil && !errors.Is(err, ErrNoSnapshot) {
		return err
	}
	if changelog, err := t.EarliestChangelogID(ctx); err == nil {
		earliest = min(earliest, changelog)
	} else if !errors.Is(err, ErrChangelogNotFound) {
		return err
	}
	if next < max(earliest, FirstSnapshotID) || next > latest+1 {
		return fmt.Errorf("reset consumer %q of table %s to snapshot %d: want %d to %d: %w", id, t.Path, next,
			max(earliest, FirstSnapshotID), latest+1, ErrSnapshotNotFound)
	}
	return t.SetConsumer(ctx, id, next)
}

// DeleteConsumer removes a consumer. It is no error if there is none.
func (t *Table) DeleteConsumer(ctx context.Context, id string) error {
	if err := checkComponent("consumer", id); err != nil {
		return err
	}
	if err := t.Store.Delete(ctx, t.ConsumerPath(id)); err != nil {
		return fmt.Errorf("delete consumer %q of table %s: %w", id, t.Path, err)
	}
	return nil
}

// MinNextSnapshot returns the smallest position of all consumers; ok is false if
// there are none.
func (t *Table) MinNextSnapshot(ctx context.Context) (next int64, ok bool, err error) {
	consumers, err := t.Consumers(ctx)
	if err != nil {
		return 0, false, err
	}
	for i, c := range consumers {
		if i == 0 || c.NextSnapshot < next {
			next = c.NextSnapshot
		}
	}
	return next, len(consumers) > 0, nil
}
