package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrClosed is returned by the methods of a closed subscription.
var ErrClosed = errors.New("subscription is closed")

// ErrCorrupt is returned for frames that break the protocol: rows that do not fit
// the schema, or a commit whose number of rows is not the one that was announced.
var ErrCorrupt = errors.New("stream is corrupt")

// Error is what a gateway answered.
type Error struct {
	Reason   string            // such as CURSOR_EXPIRED; empty if the gateway gave none
	Code     codes.Code        // the code of gRPC
	Message  string            // for people
	Metadata map[string]string // facts, such as earliest and latest of an expired cursor
	Retry    time.Duration     // after which the gateway wants to be asked again; 0: not said

	err error
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Message
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Reason)
}

// Unwrap returns the error of gRPC.
func (e *Error) Unwrap() error { return e.err }

// toError reads the details of a status.
func toError(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	e := &Error{Code: s.Code(), Message: s.Message(), err: err}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.RetryInfo:
			e.Retry = d.GetRetryDelay().AsDuration()
		}
	}
	return e
}

// transient tells whether the same call may go well later.
func transient(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Canceled:
		return e.Reason != "ROW_TOO_LARGE"
	}
	return false
}

// canceled prefers the error of a context that ended to what it caused.
func canceled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
