// Package feeds delivers the changes of tables to many subscribers, each at its
// own pace.
//
// A [Hub] has feeds by name. A [Feed] reads its [Table] with one tail, decodes
// each batch once, and keeps the newest frames in a window that is bounded in
// bytes. A [Subscription] is a position in the stream of frames and nothing
// more: there is no queue for a subscriber. One that falls behind the window
// reads the table with a [Source] of its own, in its own goroutine and under no
// lock, until its cursor is inside the window again. So a frozen subscriber
// costs nothing, and a slow one costs only itself.
//
// A [View] is what a subscriber wants to see: an [Encoder], columns, and a size
// for its messages. A [Frame] is encoded once for a view, when the first
// subscriber asks, and all subscribers with an equal view share the bytes.
//
// The tail runs ahead of the fastest subscriber by a small part of the window, no
// further. When history is read, this keeps the readers together; when nobody
// reads, nothing is read. A subscriber that begins far ahead of the tail makes
// it jump there.
//
// Transports see a subscription as three calls: Next (or NextBatch), Ack and
// Close. Errors are typed, and [ProblemOf] is the one table from errors to
// public reason codes; a transport maps reasons to codes of its own.
package feeds
