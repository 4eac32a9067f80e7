// Package race tells tests that the race detector watches them, which makes them
// several times slower. It looks for unordered accesses of memory, and these show
// on any path: a test that goes through all steps of something, or through many
// random histories, takes some of them then. Without it nothing is left out.
package race

// Stride is the distance of the steps that a long test takes: each one, or under
// the race detector each third one.
const Stride = 1 + 2*enabled
