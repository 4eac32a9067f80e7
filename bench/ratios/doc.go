// Command ratios measures our work and the limits of the machine by turns, and
// prints what share of its limit each work reaches.
//
// A work is measured in a process of its own with one processor, as the limits
// of bench/limits are, and by the CPU seconds of that process alone: those who
// receive what it sends, and those who write what it serves, are other
// processes. Where a work has a bound of its own, such as bytes of memory, there
// is no turn of a limit.
//
// Works read and write real tables on the local disk, synced; tables that are
// only read are made once for each build of this program. `bench/run.sh` builds
// it and the limits and starts it.
package main
