package merge

// Plan is the plain facts of a step that folds records: what a changelog
// producer needs to know to decide whether the step makes changelog. Steps that
// merge files will add their levels.
type Plan struct {
	// Flush says that the records come from a write buffer and are about to
	// become level-0 files.
	Flush bool
}
