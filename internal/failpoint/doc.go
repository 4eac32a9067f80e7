// Package failpoint names the instants at which a process that writes may die
// without harm, so that tests can let it die there. Built with the tag failpoints,
// a process kills itself with SIGKILL at the point that the environment variable
// SLUICE_FAILPOINT names, "compaction-done:3" for its third time there. Without
// the tag, [Here] is empty and costs nothing.
package failpoint
