// Package local keeps objects as files of a local file system.
//
// A file is written under a hidden temporary name in its folder, synced, and
// given its name by rename(2), or by link(2) where a file of that name must not
// be replaced: link fails if the name is taken, for every process on the
// machine, which rename does not. Then the folder is synced. So a file that can
// be seen is complete, and what a call has returned survives a crash of the
// machine.
//
// A process that dies leaves temporary files ".<name>.<uuid>.tmp" behind. Lists
// do not show them; ListTemp does, for the orphan cleaner.
package local
