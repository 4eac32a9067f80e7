// Package commit makes snapshots: the one way in which the content of a table
// changes (format section 4).
//
// A commit is optimistic. All files are written under fresh names: the manifest
// of what changes, a list that names it, a list of everything before. Nobody sees
// them. Then one file, snapshot-(N+1), is created if and only if it does not
// exist. Whoever creates it first wins; the others read what the winner did,
// check that it does not contradict them, write a new list of everything before,
// and try the next number. Data files are never written again.
//
// # Exactly once
//
// A snapshot carries the user and the identifier of the commit. A [Committer]
// looks for them before it begins and after each try whose outcome it does not
// know, so that a commit that is repeated, whatever happened to the first
// call, ends in exactly one commit. The answer of the store is never the only
// proof: if the create fails, the file is read back, and if it holds what was
// written the commit has succeeded.
//
// # What is deleted after a failure
//
// Only what is certainly ours and certainly invisible: files of a try that never
// came to the create, or whose create was answered with a snapshot of somebody
// else. After a create with an unknown outcome nothing is deleted; orphan
// cleaning takes care of it.
//
// # Cost
//
// A Committer remembers the newest snapshot it knows, the manifests it consists
// of, and the live files of partitions that it had to check. A steady committer
// reads nothing: it asks whether the next snapshot is there, writes its files
// in one batch, and creates the snapshot. So a commit costs the same on the tenth
// snapshot and on the five thousandth. The two snapshots of a commit that also
// compacts are written in one batch, too.
package commit
