package client

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	sluicev1 "sluice/proto/sluice/v1"
)

// Option says what a subscription is to be like.
type Option func(*subscribeOptions) error

type subscribeOptions struct {
	req        sluicev1.SubscribeRequest
	retriesMax int           // failures in a row
	retryMin   time.Duration // first wait
	retryMax   time.Duration // longest wait
}

// Retries of a subscription, if WithRetries does not say else.
const (
	RetriesMax = 30
	RetryMin   = 100 * time.Millisecond
	RetryMax   = 10 * time.Second
)

// From begins at a position: earliest, latest, full (the rows, then changes),
// snapshot:N, time:T (RFC 3339), tag:NAME or cursor:C. Without it, a subscription
// begins where its consumer stopped, else with the next commit.
func From(text string) Option {
	return func(o *subscribeOptions) error {
		st, err := startOf(text)
		o.req.Start = st
		return err
	}
}

// FromCursor begins at a position that a change or commit told.
func FromCursor(cursor string) Option { return From("cursor:" + cursor) }

// Until ends at a position: latest (the newest snapshot at the time of the call),
// snapshot:N, time:T or cursor:C.
func Until(text string) Option {
	return func(o *subscribeOptions) error {
		un, err := untilOf(text)
		o.req.Until = un
		return err
	}
}

// JSON asks for rows as JSON objects, which [Change.JSON] returns. Without it,
// rows come in columns, which cost the gateway and the network less.
func JSON() Option {
	return func(o *subscribeOptions) error {
		o.req.Format = sluicev1.Format_FORMAT_JSON
		return nil
	}
}

// Columns asks for some columns only, in this order.
func Columns(names ...string) Option {
	return func(o *subscribeOptions) error {
		o.req.Columns = names
		return nil
	}
}

// Consumer names the consumer whose position [Subscription.Ack] stores.
func Consumer(name string) Option {
	return func(o *subscribeOptions) error {
		o.req.Consumer = name
		return nil
	}
}

// Limits bounds messages in rows and bytes, and says how long the gateway may
// wait for more rows before it sends a message that is not full. 0 leaves a limit
// to the gateway.
func Limits(maxRows, maxBytes int, linger time.Duration) Option {
	return func(o *subscribeOptions) error {
		if maxRows < 0 || maxBytes < 0 || linger < 0 {
			return fmt.Errorf("limits %d rows, %d bytes, linger %v: want 0 or more", maxRows, maxBytes, linger)
		}
		o.req.Limits = &sluicev1.Limits{MaxRows: uint32(min(maxRows, 1<<31)), MaxBytes: uint32(min(maxBytes, 1<<31)), Linger: durationpb.New(linger)}
		return nil
	}
}

// ProgressEvery asks for a sign of life of an idle feed at least that often.
func ProgressEvery(d time.Duration) Option {
	return func(o *subscribeOptions) error {
		o.req.ProgressInterval = durationpb.New(d)
		return nil
	}
}

// WithRetries bounds how often in a row a broken subscription is tried again, and
// the waits between, which double from least to most. 0 tries never.
func WithRetries(retries int, least, most time.Duration) Option {
	return func(o *subscribeOptions) error {
		if retries < 0 || least <= 0 || most < least {
			return fmt.Errorf("retries %d, %v to %v: want 0 or more, and growing waits", retries, least, most)
		}
		o.retriesMax, o.retryMin, o.retryMax = retries, least, most
		return nil
	}
}

func startOf(text string) (*sluicev1.Start, error) {
	kind, arg, has := strings.Cut(text, ":")
	switch {
	case text == "earliest":
		return &sluicev1.Start{At: &sluicev1.Start_Earliest{Earliest: &sluicev1.Earliest{}}}, nil
	case text == "latest":
		return &sluicev1.Start{At: &sluicev1.Start_Latest{Latest: &sluicev1.Latest{}}}, nil
	case text == "full":
		return &sluicev1.Start{At: &sluicev1.Start_Full{Full: &sluicev1.Full{}}}, nil
	case has && arg != "":
		switch kind {
		case "snapshot":
			if n, err := strconv.ParseInt(arg, 10, 64); err == nil && n > 0 {
				return &sluicev1.Start{At: &sluicev1.Start_Snapshot{Snapshot: n}}, nil
			}
		case "time":
			if t, err := time.Parse(time.RFC3339, arg); err == nil {
				return &sluicev1.Start{At: &sluicev1.Start_Time{Time: timestamppb.New(t)}}, nil
			}
		case "tag":
			return &sluicev1.Start{At: &sluicev1.Start_Tag{Tag: arg}}, nil
		case "cursor":
			return &sluicev1.Start{At: &sluicev1.Start_Cursor{Cursor: arg}}, nil
		}
	}
	return nil, fmt.Errorf("start %q: want earliest, latest, full, snapshot:N, time:T as in time:2026-11-29T12:00:00Z, tag:NAME or cursor:C", text)
}

func untilOf(text string) (*sluicev1.Until, error) {
	if st, err := startOf(text); err == nil {
		switch at := st.At.(type) {
		case *sluicev1.Start_Latest:
			return &sluicev1.Until{At: &sluicev1.Until_Latest{Latest: at.Latest}}, nil
		case *sluicev1.Start_Snapshot:
			return &sluicev1.Until{At: &sluicev1.Until_Snapshot{Snapshot: at.Snapshot}}, nil
		case *sluicev1.Start_Time:
			return &sluicev1.Until{At: &sluicev1.Until_Time{Time: at.Time}}, nil
		case *sluicev1.Start_Cursor:
			return &sluicev1.Until{At: &sluicev1.Until_Cursor{Cursor: at.Cursor}}, nil
		}
	}
	return nil, fmt.Errorf("end %q: want latest, snapshot:N, time:T as in time:2026-11-29T12:00:00Z or cursor:C", text)
}
