package commit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// Committer commits to one branch of one table. Several goroutines may use it;
// their commits come one after the other.
type Committer struct {
	table *paimon.Table
	o     Options
	names string // random part of the names of files

	turn   chan struct{} // holds one token: whoever has it may use what follows
	next   int           // number of the next file
	head   *head         // nil: not known
	past   history
	set    *settings
	stat   statsSchema
	recent recentManifests
}

// New returns a committer for a table. It reads nothing yet.
func New(t *paimon.Table, o Options) *Committer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = waitTimer
	}
	if o.Jitter == nil {
		o.Jitter = func(d time.Duration) time.Duration { return time.Duration(rand.Float64() * 0.2 * float64(d)) }
	}
	c := &Committer{table: t, o: o, names: uuid.NewString(), turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

func waitTimer(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// take waits for the turn; give returns it.
func (c *Committer) take(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Committer) give() { c.turn <- struct{}{} }

// Commit makes the snapshots of a request: one for the append part and one for
// the compact part of its messages. On return they are durable and visible. A
// request with a user and identifier that were committed before does nothing and
// returns the same snapshots; if only its append part was committed, the compact
// part is made up for.
//
// Errors: a [*ConflictError], a [*RequestError], an [*IdentifierError], a
// [*MissingFilesError], [ErrLostRaces] or [ErrTimeout] say that the rest has not
// happened; an [*UnknownOutcomeError] says that nobody knows; so does an error of
// the context that comes wrapped in one. All others say that it has not happened.
// With any error the snapshots that were made before are in the result.
func (c *Committer) Commit(ctx context.Context, req Request) (*Result, error) {
	if req.User == "" {
		return &Result{}, badRequest("the user is empty")
	}
	if err := c.take(ctx); err != nil {
		return &Result{}, err
	}
	defer c.give()
	result, err := c.commit(ctx, &req)
	if err != nil {
		err = fmt.Errorf("commit %d of user %q to table %s: %w", req.Identifier, req.User, c.table.Path, err)
	}
	return result, err
}

func (c *Committer) commit(ctx context.Context, req *Request) (*Result, error) {
	result := &Result{}
	if err := c.refresh(ctx); err != nil {
		return result, err
	}
	done, err := c.committed(ctx, req, req.NewUser)
	if err != nil {
		return result, err
	}
	result.Snapshots = done
	parts, err := c.parts(req, done)
	if err != nil {
		return result, err
	}
	if len(parts) == 0 {
		result.Repeated = len(done) > 0
		return result, nil
	}
	if req.VerifyFiles {
		if err := c.verify(ctx, parts); err != nil {
			return result, err
		}
	}
	return result, c.commitParts(ctx, req, parts, result)
}

// commitParts makes one snapshot of each of the changes.
func (c *Committer) commitParts(ctx context.Context, req *Request, changes []*changes, result *Result) error {
	parts := make([]*part, len(changes))
	for i := range changes {
		parts[i] = &part{req: req, changes: changes[i]}
	}
	var err error
	if len(parts) == 2 {
		var made []*paimon.Snapshot
		made, err = c.commitTogether(ctx, parts[0], parts[1])
		result.Snapshots = append(result.Snapshots, made...)
		parts = parts[len(made):]
	}
	for ; err == nil && len(parts) > 0; parts = parts[1:] {
		var s *paimon.Snapshot
		if s, err = c.commitPart(ctx, parts[0]); err != nil {
			break
		}
		result.Snapshots = append(result.Snapshots, s)
	}
	for i, p := range parts { // the first of them is the one that failed
		if i > 0 && p.shared != nil && p.shared.written {
			c.remove(ctx, p.shared.files)
		}
	}
	return err
}

// parts returns what is still to be committed, given the snapshots that are
// there.
func (c *Committer) parts(req *Request, done []*paimon.Snapshot) ([]*changes, error) {
	var appendedDone, compactedDone bool
	for _, s := range done {
		appendedDone = true // the compact part comes second
		compactedDone = compactedDone || isCompact(s.CommitKind)
	}
	appended, compacted, err := collect(req, c.set)
	if err != nil {
		return nil, err
	}
	makeAppended := !appended.empty() || !c.ignoresEmpty(req)
	if req.Overwrite != nil {
		appended.kind = paimon.CommitOverwrite
		appended.changelog, compacted.changelog = nil, nil // format section 4.8
		if appended.overwrite, err = newTarget(req.Overwrite, appended, c.set); err != nil {
			return nil, err
		}
		makeAppended = appended.overwrite != nil || !c.ignoresEmpty(req)
		if compacted.empty() {
			if appended.entries, err = upgrade(appended.entries, c.set); err != nil {
				return nil, err
			}
		}
	}
	var parts []*changes
	if makeAppended && !appendedDone {
		parts = append(parts, appended)
	}
	if !compacted.empty() && !compactedDone {
		parts = append(parts, compacted)
	}
	return parts, nil
}

func (c *Committer) ignoresEmpty(req *Request) bool {
	if c.set.ignoreEmpty != nil && req.Identifier == paimon.BatchCommitIdentifier {
		return *c.set.ignoreEmpty
	}
	return req.IgnoreEmpty
}

// verify checks that the files of a commit exist.
func (c *Committer) verify(ctx context.Context, parts []*changes) error {
	missing := &MissingFilesError{}
	check := func(name string) error {
		ok, err := objstore.Exists(ctx, c.table.Store, name)
		if err == nil && !ok {
			missing.Names = append(missing.Names, name)
		}
		return err
	}
	for _, p := range parts {
		for _, list := range [][]manifest.Entry{p.entries, p.changelog} {
			for i := range list {
				if list[i].Kind == manifest.Delete || isInsideAnother(list[i].File.FileName) {
					continue
				}
				if err := check(c.table.DataFilePath(&list[i])); err != nil {
					return err
				}
			}
		}
		for i := range p.newIndex {
			if err := check(c.table.IndexPath(&p.newIndex[i])); err != nil {
				return err
			}
		}
	}
	if len(missing.Names) > 0 {
		return missing
	}
	return nil
}

// LastOf returns the newest snapshot of a user, nil if there is none: where a
// writer goes on after a restart.
func (c *Committer) LastOf(ctx context.Context, user string) (*paimon.Snapshot, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if err := c.refresh(ctx); err != nil {
		return nil, fmt.Errorf("last commit of user %q to table %s: %w", user, c.table.Path, err)
	}
	r, err := c.userRecord(ctx, user, false)
	if err != nil {
		return nil, fmt.Errorf("last commit of user %q to table %s: %w", user, c.table.Path, err)
	}
	if len(r.same) == 0 {
		return nil, nil
	}
	return r.same[len(r.same)-1], nil
}

// Latest returns the newest snapshot, nil if there is none.
func (c *Committer) Latest(ctx context.Context) (*paimon.Snapshot, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if err := c.refresh(ctx); err != nil {
		return nil, fmt.Errorf("latest snapshot of table %s: %w", c.table.Path, err)
	}
	return c.head.snapshot, nil
}

// Truncate removes all rows in an OVERWRITE snapshot.
func (c *Committer) Truncate(ctx context.Context, user string, identifier int64) (*Result, error) {
	return c.Commit(ctx, Request{User: user, Identifier: identifier, Overwrite: &Overwrite{}, Operation: "TRUNCATE"})
}

// DropPartitions removes all rows of the partitions that match any of the values
// by column name.
func (c *Committer) DropPartitions(ctx context.Context, user string, identifier int64, partitions []map[string]string) (*Result, error) {
	if len(partitions) == 0 {
		return &Result{}, badRequest("no partition is named")
	}
	for _, p := range partitions {
		if len(p) == 0 {
			return &Result{}, badRequest("a partition without values is the whole table")
		}
	}
	return c.Commit(ctx, Request{User: user, Identifier: identifier, Overwrite: &Overwrite{Partitions: partitions}})
}

// Abort deletes the files of messages that were not and will not be committed:
// not after an [*UnknownOutcomeError]. Files that were there before the messages
// stay.
func (c *Committer) Abort(ctx context.Context, messages []Message) error {
	var errs []error
	for i := range messages {
		m := &messages[i]
		before := map[string]bool{}
		for _, list := range [][]manifest.DataFile{m.DeletedFiles, m.CompactBefore} {
			for j := range list {
				before[list[j].FileName] = true
			}
		}
		for j := range m.NewFiles { // also if the compaction took them
			delete(before, m.NewFiles[j].FileName)
		}
		e := manifest.Entry{Partition: m.Partition, Bucket: m.Bucket}
		for _, list := range [][]manifest.DataFile{m.NewFiles, m.Changelog, m.CompactAfter, m.CompactChangelog} {
			for j := range list {
				if e.File = list[j]; before[e.File.FileName] || isInsideAnother(e.File.FileName) {
					continue
				}
				errs = append(errs, c.table.Store.Delete(ctx, c.table.DataFilePath(&e)))
				for _, extra := range e.File.ExtraFiles {
					errs = append(errs, c.table.Store.Delete(ctx, c.table.SidecarPath(&e, extra)))
				}
			}
		}
		for _, list := range [][]manifest.IndexEntry{m.NewIndex, m.CompactNewIndex} {
			for j := range list {
				index := list[j]
				if index.Partition == nil {
					index.Partition, index.Bucket = m.Partition, m.Bucket
				}
				errs = append(errs, c.table.Store.Delete(ctx, c.table.IndexPath(&index)))
			}
		}
	}
	return errors.Join(errs...)
}

// file is a metadata file that is to be written.
type file struct {
	name string // without folder
	data []byte
}

// newFile gives content a fresh name.
func (c *Committer) newFile(prefix string, data []byte) file {
	name := prefix + "-" + c.names + "-" + strconv.Itoa(c.next)
	c.next++
	return file{name, data}
}
