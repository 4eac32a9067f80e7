// Package server builds a gateway from its configuration, runs it and stops it in
// order. It is where all parts meet; no part imports it.
//
// [New] opens everything that can be refused: files, addresses, streams. [Server.Run]
// serves until its context ends, then asks subscribers to come back elsewhere,
// lets what is on its way arrive, and closes feeds, listeners and servers, in
// that order.
package server
