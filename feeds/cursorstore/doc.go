// Package cursorstore keeps the positions of named consumers durably, and tells
// the table about them.
//
// The exact cursor of a consumer is a small JSON object under the gateway's own
// folder in the warehouse, .sluice/consumers/FEED/CONSUMER. Beside it the table
// gets a consumer file of Paimon (format section 3.7) named sluice-FEED-CONSUMER,
// whose next snapshot keeps what the consumer has not read from expiring, whoever
// runs the expiry. The cursor is written first: if a crash comes in between, the
// table keeps more than is needed, never less.
//
// A position only moves on: an older one that arrives late is answered with the
// stored one. Within a process saves of one consumer are ordered; two gateways
// that save for the same consumer at once may each win, which costs a consumer
// rows that it sees again, and nothing else.
package cursorstore
