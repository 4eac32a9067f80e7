// Package meter measures what the benchmarks of this folder do: wall and CPU
// time of the parts that count, with the collector's share and the peak of
// resident memory, and the order statistics of single steps.
//
// CPU time is user and system time of the whole process, so it has the garbage
// collector and the kernel's work in it. On a machine that is shared it moves
// far less than wall time, and so it is what rates are told by.
package meter
