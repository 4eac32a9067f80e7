// Package cursorstore makes the acknowledged positions of consumers durable.
//
// A position is stored twice: exactly, as the text of its cursor, in an object of
// the gateway's own; and as nextSnapshot in the table's consumer file (format
// section 3.7), so that the expiry of snapshots, ours or Paimon's, keeps what the
// consumer has not read. The exact one is written first. A crash between the two
// leaves a consumer file that keeps more than needed, which is harmless.
//
// Acknowledgements of one consumer that arrive while one is being written are
// written together, as the latest of them.
package cursorstore
