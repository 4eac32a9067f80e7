// Package maintenance removes what a table does not need any more: expired
// snapshots, long-lived changelogs, tags and consumers with the files that only
// they kept alive, and files that nothing refers to (format section 12). It also
// rolls a table back.
//
// Every operation first finds out what is still needed, from metadata that must
// be readable, and only then deletes; what it cannot prove unneeded stays.
// Expirations delete from the leaves to the root: data files, then manifests and
// index files, then the lists that name them, then snapshots and changelogs. So a
// run that was interrupted can be repeated and finds whatever is left, and all
// snapshots, tags and changelogs that do not expire are whole at any time. Rollback
// and the deletion of a tag begin at the root: what is still there is whole, and
// an interruption leaves orphans. Files are deleted by name, never by folder.
package maintenance
