// Package crash kills the product with SIGKILL, again and again, and looks at what
// is left: every acknowledged row is in the table once, no snapshot names a file
// that is missing, each subscriber has got each change once and in order, and so
// has the JetStream stream. Writers with lookup indexes and compactors die at every
// failpoint, and their indexes are lost, damaged or mixed up between.
//
// The tests are short in an ordinary run. SLUICE_KILLS says how often each of them
// kills, SLUICE_SEED what happens when: every test prints its seed.
package crash
