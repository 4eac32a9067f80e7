// Package objstore is the contract between tables and the place that keeps
// their files: named, immutable objects with the few guarantees that a commit
// needs.
//
// There is no append, no seek-and-write and no rename of an object, since an
// object store such as S3 has none of them. What there is instead: an object
// becomes visible as a whole ([Writer].Finish, [Store].Put), and exactly one of
// any number of processes can create an object under a name
// ([Store].PutIfAbsent: link(2) on a local disk, a conditional put on S3). That
// one call is the commit point of a table (format section 4.2).
//
// Names are paths: segments joined with slashes, without a leading slash. A
// folder is a prefix that ends before a slash. Folders need not be made before
// objects are put in them.
//
// Implementations: local (a file system), memstore (memory, for tests) and
// faultstore (a wrapper that fails on purpose). storetest is the conformance
// suite that every implementation passes.
package objstore
