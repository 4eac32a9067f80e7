package grpcfeed

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"sluice/feeds"
)

// Domain is the domain of the ErrorInfo that errors carry.
const Domain = "sluice"

// codeOf is the table from reasons to codes. A test checks that it is complete.
var codeOf = map[feeds.Reason]codes.Code{
	feeds.CursorExpired:       codes.OutOfRange,
	feeds.CursorEpochMismatch: codes.FailedPrecondition,
	feeds.CursorInvalid:       codes.InvalidArgument,
	feeds.CursorAhead:         codes.FailedPrecondition,
	feeds.SlowConsumer:        codes.ResourceExhausted,
	feeds.QuotaExceeded:       codes.ResourceExhausted,
	feeds.ConsumerFenced:      codes.Aborted,
	feeds.TokenExpired:        codes.Unauthenticated,
	feeds.FeedForbidden:       codes.PermissionDenied,
	feeds.NodeDraining:        codes.Unavailable,
	feeds.RowTooLarge:         codes.ResourceExhausted,
	feeds.SchemaUnsupported:   codes.FailedPrecondition,
	feeds.FeedNotFound:        codes.NotFound,
	feeds.TableNotFound:       codes.NotFound,
	feeds.RequestInvalid:      codes.InvalidArgument,
	feeds.TableUnsupported:    codes.Unimplemented,
	feeds.Canceled:            codes.Canceled,
	feeds.Internal:            codes.Internal,
}

// toStatus turns an error into a status with an ErrorInfo, and what else helps.
// An error that is a status already stays as it is.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	p := feeds.ProblemOf(err)
	if p.Reason == feeds.Canceled {
		return status.FromContextError(rootOf(err)).Err()
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(p.Reason), Domain: Domain, Metadata: p.Metadata}}
	switch p.Reason {
	case feeds.QuotaExceeded:
		var quota *feeds.QuotaError
		if errors.As(err, &quota) {
			details = append(details, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: quota.What, Description: quota.Error()}}})
		}
	case feeds.RequestInvalid:
		var request *feeds.RequestError
		if errors.As(err, &request) {
			details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: request.Field, Description: request.Why}}})
		}
	case feeds.FeedNotFound, feeds.TableNotFound:
		var missing *feeds.NotFoundError
		if errors.As(err, &missing) {
			details = append(details, &errdetails.ResourceInfo{ResourceType: missing.Kind, ResourceName: missing.Name, Description: missing.Error()})
		}
	}
	if p.Retry && p.Reason != feeds.Internal {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(p.RetryAfter)})
	}
	s := status.New(codeOf[p.Reason], p.Message)
	if with, err := s.WithDetails(details...); err == nil { // fails only for code OK
		s = with
	}
	return s.Err()
}

// rootOf returns the innermost error: grpc knows those of contexts by identity.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
