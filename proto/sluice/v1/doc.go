// Package sluicev1 is the wire contract of a gateway: the messages and services of
// the .proto files beside, as generated code. What is released here stays: numbers
// and names are never used for something else.
package sluicev1
