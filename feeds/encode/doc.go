// Package encode turns rows in columns into the bytes of feeds, and back.
//
// There are two forms, both of messages in proto/sluice/v1/frame.proto: Columns
// has the values of each column end to end, and is little more than copies of
// the vectors' slices; JsonRows has a JSON object a row. Encoders append to a
// slice and keep nothing; they are pure functions of [rowdata] vectors. Decoders
// take bytes from outside: they never panic, and allocate no more than a small
// multiple of what they are given.
//
// The envelope of a frame belongs to who carries it; see package wire.
package encode
