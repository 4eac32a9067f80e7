package commit

import (
	"context"
	"errors"
	"slices"

	"sluice/paimon"
)

const (
	usersMax       = 1000 // whose newest commit is remembered
	siblingScanMax = 1000 // snapshots between the two parts of one commit
)

// history remembers the newest commit of each user that was asked for.
type history struct {
	users map[string]*userRecord
}

// userRecord is the snapshots of a user's newest commit, in order; none if the
// user has never committed.
type userRecord struct{ same []*paimon.Snapshot }

func (r *userRecord) identifier() int64 { return r.same[0].CommitIdentifier }

// add takes a snapshot that is newer than all others.
func (h *history) add(s *paimon.Snapshot) {
	r := h.users[s.CommitUser]
	if r == nil {
		return
	}
	if len(r.same) > 0 && r.identifier() == s.CommitIdentifier && len(r.same) < 2 {
		r.same = append(slices.Clip(r.same), s)
	} else {
		r.same = []*paimon.Snapshot{s}
	}
}

// userRecord returns the newest commit of a user. isNew: the user has never
// committed, unless we know better.
func (c *Committer) userRecord(ctx context.Context, user string, isNew bool) (*userRecord, error) {
	if r := c.past.users[user]; r != nil {
		return r, nil
	}
	r := &userRecord{}
	if !isNew {
		var err error
		if r, err = c.searchUser(ctx, user); err != nil {
			return nil, err
		}
	}
	if c.past.users == nil || len(c.past.users) >= usersMax {
		c.past.users = map[string]*userRecord{}
	}
	c.past.users[user] = r
	return r, nil
}

// searchUser goes down from the newest snapshot until it finds one of the user,
// or until there is none any more (format section 3.2).
func (c *Committer) searchUser(ctx context.Context, user string) (*userRecord, error) {
	r := &userRecord{}
	last := int64(0) // id of the last one that was found
	err := c.descend(ctx, func(s *paimon.Snapshot) bool {
		switch {
		case len(r.same) > 0 && last-s.ID > siblingScanMax:
			return false
		case s.CommitUser != user:
			return true
		case len(r.same) > 0 && s.CommitIdentifier != r.identifier():
			return false
		}
		r.same = append(r.same, s)
		last = s.ID
		// The append part is the first of a commit: nothing of it is below.
		return isCompact(s.CommitKind)
	})
	slices.Reverse(r.same)
	return r, err
}

// descend calls fn for the head and the snapshots below it until fn returns
// false or a snapshot is missing.
func (c *Committer) descend(ctx context.Context, fn func(*paimon.Snapshot) bool) error {
	for s := c.head.snapshot; s != nil && fn(s) && s.ID > paimon.FirstSnapshotID; {
		below, err := c.table.Snapshot(ctx, s.ID-1)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		s = below
	}
	return nil
}

// committed returns the snapshots that a request has made already, in order.
func (c *Committer) committed(ctx context.Context, req *Request, isNew bool) ([]*paimon.Snapshot, error) {
	r, err := c.userRecord(ctx, req.User, isNew)
	if err != nil || len(r.same) == 0 {
		return nil, err
	}
	switch newest := r.identifier(); {
	case newest < req.Identifier:
		return nil, nil
	case newest == req.Identifier:
		return slices.Clone(r.same), nil
	}
	// An identifier that is long past. Find out whether it was committed.
	var same []*paimon.Snapshot
	err = c.descend(ctx, func(s *paimon.Snapshot) bool {
		if s.CommitUser != req.User {
			return true
		}
		if s.CommitIdentifier == req.Identifier {
			same = append(same, s)
		}
		return s.CommitIdentifier >= req.Identifier
	})
	if err != nil {
		return nil, err
	}
	if len(same) == 0 {
		return nil, &IdentifierError{User: req.User, Identifier: req.Identifier, Newest: r.identifier()}
	}
	slices.Reverse(same)
	return same, nil
}
