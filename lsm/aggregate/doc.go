// Package aggregate holds the functions that fold the values of a column:
// sum, max, listagg and the others of semantics section 3.5.
//
// A [Function] works on an accumulator, a vector of one row that its owner keeps
// for each column: the row that is being built. Three operations change it, all of
// them defined for NULL on either side: a value is added, a value that is older
// than what was added is added in its place, and a value is retracted. Functions
// keep scratch memory and so belong to one goroutine; what they keep of a key ends
// with Reset.
//
// Bitmaps and sketches come as bytes from outside. Their codecs are in
// sluice/lsm/aggregate/sketch.
package aggregate
