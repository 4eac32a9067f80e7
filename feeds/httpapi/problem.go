package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"sluice/feeds"
)

// statusOf maps every reason to an HTTP status.
var statusOf = map[feeds.Reason]int{
	feeds.CursorExpired:       http.StatusGone,
	feeds.CursorEpochMismatch: http.StatusConflict,
	feeds.CursorInvalid:       http.StatusBadRequest,
	feeds.CursorAhead:         http.StatusConflict,
	feeds.SlowConsumer:        http.StatusServiceUnavailable,
	feeds.QuotaExceeded:       http.StatusTooManyRequests,
	feeds.ConsumerFenced:      http.StatusConflict,
	feeds.TokenExpired:        http.StatusUnauthorized,
	feeds.FeedForbidden:       http.StatusForbidden,
	feeds.NodeDraining:        http.StatusServiceUnavailable,
	feeds.RowTooLarge:         http.StatusRequestEntityTooLarge,
	feeds.SchemaUnsupported:   http.StatusConflict,
	feeds.FeedNotFound:        http.StatusNotFound,
	feeds.TableNotFound:       http.StatusNotFound,
	feeds.RequestInvalid:      http.StatusBadRequest,
	feeds.TableUnsupported:    http.StatusNotImplemented,
	feeds.Canceled:            499, // the client has gone
	feeds.Internal:            http.StatusInternalServerError,
}

// problem is the body of an error (RFC 9457).
type problem struct {
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Reason   feeds.Reason      `json:"reason"`
	Detail   string            `json:"detail"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// WriteProblem answers a request with an error.
func WriteProblem(w http.ResponseWriter, err error) {
	p := feeds.ProblemOf(err)
	status, ok := statusOf[p.Reason]
	if !ok {
		status = http.StatusInternalServerError
	}
	if p.Retry {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(p.RetryAfter.Seconds()))))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// The client may have gone: there is nobody to tell.
	_ = json.NewEncoder(w).Encode(problem{Title: http.StatusText(status), Status: status, Reason: p.Reason, Detail: p.Message, Metadata: p.Metadata})
}
