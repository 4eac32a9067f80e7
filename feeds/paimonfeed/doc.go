// Package paimonfeed lets feeds read Paimon tables: it turns the batches of
// snapshotreader into those of feeds, and answers what transports want to know
// about tables.
//
// Nothing is decided here. Descriptions of commits and schemas are made once and
// shared by all batches that mention them.
package paimonfeed
