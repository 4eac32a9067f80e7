// Package maintenance removes what a table does not need any more: expired
// snapshots, long-lived changelogs, tags and consumers with the files that only
// they kept alive, and files that nothing refers to (format section 12). It also
// rolls a table back.
//
// Every operation first finds out what is still needed, from metadata that must
// be readable, and only then deletes; what it cannot prove unneeded stays. The
// order of deletions is such that a crash in between leaves a table that is whole
// for every snapshot, tag and changelog that is still there, and the same
// operation can be repeated. Files are deleted by name, never by folder.
package maintenance
