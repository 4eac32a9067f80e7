package merge

// Plan is the plain facts of a step that folds records: what a changelog
// producer needs to know to decide whether the step makes changelog, and which.
type Plan struct {
	// Flush says that the records come from a write buffer and are about to
	// become level-0 files. The other fields are about compactions.
	Flush bool

	Output int32 // level that the results are written to
	Top    int32 // the highest level of the bucket
	// Bottom is the highest level that has files; 0: that is Top. It is below Top
	// after num-levels was raised, until a compaction reaches Top.
	Bottom int32
	// Above says that there are files on levels above Output: a key may have a
	// record there that is not among the inputs.
	Above bool
	// DropDelete says that results of kind -U and -D are not written (semantics
	// section 2.6).
	DropDelete bool
}

// Image returns the level whose records a full-compaction changelog has told. A level
// above 0 is never written while all above it are empty, but for Top: so what lies
// lowest in the bucket was on Top when it was written.
func (p *Plan) Image() int32 {
	if p.Bottom > 0 {
		return p.Bottom
	}
	return p.Top
}

// Upgrade is the facts of a file that could go to the output level of a compaction
// as it stands, since no other file has keys in its range.
type Upgrade struct {
	Plan
	From        int32 // level of the file
	Deletes     bool  // it has, or may have, records of kind -U and -D
	OtherFormat bool  // files of the output level have another format
}

// UpgradeAction says what must be done for an [Upgrade].
type UpgradeAction uint8

// The actions.
const (
	Move          UpgradeAction = iota // the file changes its level; it is not read
	MoveAndReport                      // it changes its level, and is read for changelog and index
	Rewrite                            // its records are resolved and written again
)
