// Package sketch joins bitmaps and sketches that columns hold as bytes: roaring
// bitmaps of 32 and 64 bits, HyperLogLog and theta sketches, in the serialised
// forms of their Java libraries. It is the only package beside deletion vectors
// that knows the libraries for them.
//
// The bytes come from outside: whatever they are, a union of them is a result or
// an error.
package sketch
