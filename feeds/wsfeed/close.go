package wsfeed

import (
	"sluice/feeds"
)

// Close codes. 4000 to 4499 say that the client should connect again with the
// cursor it has, 4500 to 4999 that this would not help.
const (
	closeNormal      = 1000
	closeGoingAway   = 1001
	closeTooBig      = 1009
	closeRestart     = 1012
	closeSlow        = 4008
	closeQuota       = 4029
	closeInternal    = 4011
	closeTimeout     = 4000 // no subscribe message in time, or no pong
	closeUnauthentic = 4501
	closeForbidden   = 4503
	closeNotFound    = 4504
	closeInvalid     = 4500
	closeFenced      = 4509
	closeExpired     = 4510
	closeEpoch       = 4511
	closeAhead       = 4512
	closeSchema      = 4513
	closeRowTooLarge = 4514
	closeUnsupported = 4515
)

// codeOf maps every reason to a close code.
var codeOf = map[feeds.Reason]int{
	feeds.CursorExpired:       closeExpired,
	feeds.CursorEpochMismatch: closeEpoch,
	feeds.CursorInvalid:       closeInvalid,
	feeds.CursorAhead:         closeAhead,
	feeds.SlowConsumer:        closeSlow,
	feeds.QuotaExceeded:       closeQuota,
	feeds.ConsumerFenced:      closeFenced,
	feeds.TokenExpired:        closeUnauthentic,
	feeds.FeedForbidden:       closeForbidden,
	feeds.NodeDraining:        closeRestart,
	feeds.RowTooLarge:         closeRowTooLarge,
	feeds.SchemaUnsupported:   closeSchema,
	feeds.FeedNotFound:        closeNotFound,
	feeds.TableNotFound:       closeNotFound,
	feeds.RequestInvalid:      closeInvalid,
	feeds.TableUnsupported:    closeUnsupported,
	feeds.Canceled:            closeGoingAway,
	feeds.Internal:            closeInternal,
}

// Reconnect tells whether a close code asks the client to connect again.
func Reconnect(code int) bool {
	return code == closeGoingAway || code == closeRestart || code >= 4000 && code < 4500
}
