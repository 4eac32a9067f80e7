// Package client subscribes to the feeds of a gateway.
//
//	c, err := client.Dial("localhost:7070")
//	sub := c.Subscribe("shop.orders", client.From("full"))
//	defer sub.Close()
//	for change, err := range sub.Changes(ctx) {
//		...
//		saved = change.Next() // resume with client.FromCursor(saved)
//	}
//
// A [Subscription] lives longer than a connection: when one breaks, or the
// gateway asks to connect again, it waits a little, connects and goes on with the
// row after the last one that it has received. The program sees one unbroken
// stream. What can't be healed so, such as a cursor whose changes have expired,
// is returned as an [*Error] with the gateway's reason.
//
// Positions are texts. A program that stores the position after each change, or
// after each commit, together with what it made of it, sees each change exactly
// once. [Subscription.Ack] stores a position at the gateway for a named consumer.
//
// The package rests on the protocol alone and may be used by any program.
package client
