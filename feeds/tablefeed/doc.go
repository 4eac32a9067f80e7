// Package tablefeed lets feeds read Paimon tables: a [Table] is a table of a
// catalog as [feeds.Table], read with [snapshotreader]; a [Warehouse] describes
// all tables of a catalog to transports.
//
// A table is opened by name when it is needed, and anew when another one was
// created under that name, so that a feed outlives a DROP and CREATE: cursors of
// the old table are refused from then on, and new subscriptions read the new one.
package tablefeed
