package feeds

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sluice/snapshotreader"
)

// ErrClosed is returned by calls on a hub, feed or subscription that was closed.
var ErrClosed = errors.New("feed is closed")

// ErrDraining is returned when the gateway is about to stop. The position is
// good: connect again, here or elsewhere.
var ErrDraining = errors.New("gateway is draining")

// Errors of positions are the reader's.
type (
	// CursorExpiredError tells that the changes at a position are gone.
	CursorExpiredError = snapshotreader.CursorExpiredError
	// CursorMismatchError tells that a cursor belongs to another table, branch or
	// history.
	CursorMismatchError = snapshotreader.CursorMismatchError
	// CursorAheadError tells that the table has not come to a position.
	CursorAheadError = snapshotreader.CursorAheadError
	// CursorInvalidError tells that a text is no cursor.
	CursorInvalidError = snapshotreader.CursorInvalidError
	// UnsupportedError tells that a table has something that can't be read.
	UnsupportedError = snapshotreader.UnsupportedError
)

// ErrTableDropped is returned when the table of a feed is not there any more.
var ErrTableDropped = snapshotreader.ErrTableDropped

// NotFoundError tells that there is no feed, table or schema of that name.
type NotFoundError struct {
	Kind string // feed, table, schema
	Name string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("no %s %q", e.Kind, e.Name) }

// RequestError tells which part of a request is wrong.
type RequestError struct {
	Field string
	Why   string
}

func (e *RequestError) Error() string { return e.Field + ": " + e.Why }

// QuotaError tells which limit is reached.
type QuotaError struct {
	What       string // such as "subscriptions of feed orders"
	Limit      int64
	RetryAfter time.Duration
}

func (e *QuotaError) Error() string { return fmt.Sprintf("limit of %d %s is reached", e.Limit, e.What) }

// SlowConsumerError tells that a subscriber was cut because it did not read.
type SlowConsumerError struct {
	Cursor Cursor // to go on from
	Why    string
}

func (e *SlowConsumerError) Error() string { return "subscriber is too slow: " + e.Why }

// FencedError tells that somebody else has taken over a consumer.
type FencedError struct {
	Consumer string
	Epoch    int64
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("consumer %q was taken over by epoch %d", e.Consumer, e.Epoch)
}

// RowTooLargeError tells that a row does not fit any message.
type RowTooLargeError struct {
	Cursor          Cursor
	Bytes, MaxBytes int64
}

func (e *RowTooLargeError) Error() string {
	return fmt.Sprintf("row of %d bytes is larger than %d", e.Bytes, e.MaxBytes)
}

// SchemaError tells that a schema can't be shown in the form that was asked for.
type SchemaError struct {
	SchemaID int64
	Why      string
}

func (e *SchemaError) Error() string { return fmt.Sprintf("schema %d: %s", e.SchemaID, e.Why) }

// AuthError tells that the caller is not known, or may not do this.
type AuthError struct {
	Forbidden bool // known, but may not
	Why       string
}

func (e *AuthError) Error() string { return e.Why }

// Reason is a stable public name of a kind of error, equal on all transports.
type Reason string

// The reasons. They are a promise: none is renamed or used for something else.
const (
	CursorExpired       Reason = "CURSOR_EXPIRED"
	CursorEpochMismatch Reason = "CURSOR_EPOCH_MISMATCH"
	CursorInvalid       Reason = "CURSOR_INVALID"
	CursorAhead         Reason = "CURSOR_AHEAD"
	SlowConsumer        Reason = "SLOW_CONSUMER"
	QuotaExceeded       Reason = "QUOTA_EXCEEDED"
	ConsumerFenced      Reason = "CONSUMER_FENCED"
	TokenExpired        Reason = "TOKEN_EXPIRED"
	FeedForbidden       Reason = "FEED_FORBIDDEN"
	NodeDraining        Reason = "NODE_DRAINING"
	RowTooLarge         Reason = "ROW_TOO_LARGE"
	SchemaUnsupported   Reason = "SCHEMA_UNSUPPORTED"
	FeedNotFound        Reason = "FEED_NOT_FOUND"
	TableNotFound       Reason = "TABLE_NOT_FOUND"
	RequestInvalid      Reason = "REQUEST_INVALID"
	TableUnsupported    Reason = "TABLE_UNSUPPORTED"
	Canceled            Reason = "CANCELED"
	Internal            Reason = "INTERNAL"
)

// Reasons returns all reasons, for tests that a transport maps each.
func Reasons() []Reason {
	return []Reason{
		CursorExpired, CursorEpochMismatch, CursorInvalid, CursorAhead, SlowConsumer, QuotaExceeded,
		ConsumerFenced, TokenExpired, FeedForbidden, NodeDraining, RowTooLarge, SchemaUnsupported, FeedNotFound,
		TableNotFound, RequestInvalid, TableUnsupported, Canceled, Internal,
	}
}

// Problem is an error as clients see it.
type Problem struct {
	Reason     Reason
	Message    string
	Metadata   map[string]string // facts by name, such as earliest and latest; may be nil
	Retry      bool              // the same request may go well later
	RetryAfter time.Duration     // 0: at once, or the client's own back-off
}

// ProblemOf is the one table from errors to reasons. An error that it does not
// know is [Internal].
func ProblemOf(err error) Problem {
	p := Problem{Reason: Internal, Message: err.Error(), Retry: true}
	var (
		expired  *CursorExpiredError
		mismatch *CursorMismatchError
		ahead    *CursorAheadError
		invalid  *CursorInvalidError
		unsup    *UnsupportedError
		missing  *NotFoundError
		request  *RequestError
		quota    *QuotaError
		slow     *SlowConsumerError
		fenced   *FencedError
		large    *RowTooLargeError
		schema   *SchemaError
		auth     *AuthError
	)
	no := func(r Reason, metadata ...string) {
		p.Reason, p.Retry = r, false
		for i := 0; i+1 < len(metadata); i += 2 {
			if p.Metadata == nil {
				p.Metadata = map[string]string{}
			}
			p.Metadata[metadata[i]] = metadata[i+1]
		}
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch {
	case errors.As(err, &expired):
		no(CursorExpired, "earliest", number(expired.Earliest), "latest", number(expired.Latest))
	case errors.As(err, &mismatch):
		no(CursorEpochMismatch)
	case errors.As(err, &ahead):
		no(CursorAhead, "head", number(ahead.Latest))
	case errors.As(err, &invalid):
		no(CursorInvalid)
	case errors.As(err, &unsup):
		no(TableUnsupported)
	case errors.Is(err, ErrTableDropped):
		no(TableNotFound)
	case errors.As(err, &missing):
		no(TableNotFound, missing.Kind, missing.Name)
		if missing.Kind == "feed" {
			p.Reason = FeedNotFound
		}
	case errors.As(err, &request):
		no(RequestInvalid, "field", request.Field)
	case errors.As(err, &quota):
		no(QuotaExceeded, "limit", number(quota.Limit))
		p.Retry, p.RetryAfter = true, max(quota.RetryAfter, time.Second)
	case errors.As(err, &slow):
		no(SlowConsumer, "cursor", slow.Cursor.String())
		p.Retry, p.RetryAfter = true, time.Second
	case errors.As(err, &fenced):
		no(ConsumerFenced, "epoch", number(fenced.Epoch))
	case errors.As(err, &large):
		no(RowTooLarge, "bytes", number(large.Bytes), "max_bytes", number(large.MaxBytes))
	case errors.As(err, &schema):
		no(SchemaUnsupported, "schema_id", number(schema.SchemaID))
	case errors.As(err, &auth):
		no(TokenExpired)
		if auth.Forbidden {
			p.Reason = FeedForbidden
		}
	case errors.Is(err, ErrDraining), errors.Is(err, ErrClosed):
		no(NodeDraining)
		p.Retry = true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		p.Reason = Canceled
	}
	return p
}
