// Package subscriber reads feeds as a stranger does, over every transport, and
// turns what arrives into one form, so that tests can compare the transports with
// each other, row by row and byte by byte.
//
// Nothing here connects again by itself: a [Stream] that breaks is broken. What a
// subscriber does about it is what the tests are about.
package subscriber
