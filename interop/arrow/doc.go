// Package arrow has tests only: it reads with Apache Arrow's Parquet library what
// sluice/paimon/datafile/pqt has written. It is a module of its own so that
// nothing of Arrow gets into the program.
package arrow
