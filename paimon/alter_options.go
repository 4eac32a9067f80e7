package paimon

import "slices"

func (c SetOption) apply(e *evolution) error {
	if err := e.checkOption(c.Key, c.Value, true); err != nil {
		return err
	}
	if c.Key == OptScanFallbackBranch && !slices.Contains(e.branches, c.Value) {
		return refuseOption(c.Key, "Cannot set 'scan.fallback-branch' = '%s' because the branch '%s' does not exist.", c.Value, c.Value)
	}
	e.next.Options[c.Key] = c.Value
	return nil
}

func (c ResetOption) apply(e *evolution) error {
	if err := e.checkOption(c.Key, "", false); err != nil {
		return err
	}
	delete(e.next.Options, c.Key)
	return nil
}

// checkOption refuses changes of options that the data of a table rests on
// (format sections 2.5 and 13.1).
func (e *evolution) checkOption(key, value string, set bool) error {
	old, had := e.next.Options[key]
	if set && had && old == value {
		return nil
	}
	if key == OptPath || key == OptBranch {
		return refuseOption(key, "Change '%s' is not supported yet.", key)
	}
	if !e.hasSnapshots {
		return nil
	}
	switch {
	case key == OptBucket && set:
		return e.checkBucketChange(value)
	case key == OptBucket:
		return refuseOption(key, "Cannot reset bucket.")
	case key == OptDeletionVectorsEnabled:
		return e.checkDeletionVectors(value, set)
	case key == OptIgnoreDelete && set:
		return e.checkIgnoreDelete(value)
	case IsImmutable(key):
		return refuseOption(key, "Change '%s' is not supported yet.", key)
	}
	return nil
}

// checkBucketChange allows another number of buckets, but none from or to -1:
// partitions follow as they are overwritten.
func (e *evolution) checkBucketChange(value string) error {
	old, err := e.next.Options.Int(OptBucket)
	if err != nil {
		return err
	}
	to, err := Options{OptBucket: value}.Int(OptBucket)
	switch {
	case err != nil:
		return err
	case old == to:
		return nil
	case old == UnawareBuckets:
		return refuseOption(OptBucket, "Cannot change bucket when it is -1.")
	case to == UnawareBuckets:
		return refuseOption(OptBucket, "Cannot change bucket to -1.")
	}
	return nil
}

// checkDeletionVectors refuses to switch vectors on or off, which would show
// deleted rows or hide level 0.
func (e *evolution) checkDeletionVectors(value string, set bool) error {
	old, err := e.next.Options.Bool(OptDeletionVectorsEnabled)
	if err != nil {
		return err
	}
	to := false
	if set {
		if to, err = (Options{OptDeletionVectorsEnabled: value}).Bool(OptDeletionVectorsEnabled); err != nil {
			return err
		}
	}
	modifiable, err := e.next.Options.Bool(OptDeletionVectorsModifiable)
	if err != nil || modifiable || old == to {
		return err
	}
	return refuseOption(OptDeletionVectorsEnabled, "Cannot change deletion vectors mode from %t to %t. If modifying table deletion-vectors mode without full-compaction, this may result in data duplication. "+
		"If you are confident, you can set table option 'deletion-vectors.modifiable' = 'true' to allow deletion vectors modification.", old, to)
}

// checkIgnoreDelete refuses to let deletes count again: those that files hold from
// before would delete what was read with them passed over.
func (e *evolution) checkIgnoreDelete(value string) error {
	old, err := e.next.Options.Bool(OptIgnoreDelete)
	if err != nil {
		return err
	}
	to, err := Options{OptIgnoreDelete: value}.Bool(OptIgnoreDelete)
	if err != nil || !old || to {
		return err
	}
	return refuseOption(OptIgnoreDelete, "Cannot change ignore-delete from true to false.")
}

func (c ChangeComment) apply(e *evolution) error {
	e.next.Comment = c.Comment
	return nil
}

func (DropPrimaryKey) apply(e *evolution) error {
	if e.hasSnapshots {
		return refuse("Cannot drop primary keys on a non-empty table.")
	}
	e.next.PrimaryKeys = nil
	return nil
}
