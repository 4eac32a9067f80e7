package failpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Env is the environment variable that arms a point.
const Env = "SLUICE_FAILPOINT"

// Point is the name of an instant.
type Point string

// The points, in the order in which a commit passes them.
const (
	DataFileWritten      Point = "data-file-written"      // of level 0 or of a compaction, not durable yet
	ChangelogFileWritten Point = "changelog-file-written" // likewise
	FileDurable          Point = "file-durable"           // while others of its commit may not be
	Level0Durable        Point = "level-0-durable"        // all flushed rows; compaction is next
	IndexOpened          Point = "index-opened"
	IndexRebuilding      Point = "index-rebuilding" // the old one is of no use, no new one is there
	IndexRebuilt         Point = "index-rebuilt"
	IndexCatchingUp      Point = "index-catching-up" // one changelog file of those that it missed is in it
	IndexCaughtUp        Point = "index-caught-up"
	LookedUp             Point = "looked-up"             // keys of a batch, while its files are being written
	CompactionDone       Point = "compaction-done"       // its files are written
	StageFinished        Point = "stage-finished"        // what it changes in the index is ready
	CompactionsDurable   Point = "compactions-durable"   // all that the commit names is
	CommitBegins         Point = "commit-begins"         // before manifests and snapshot
	CommitEnds           Point = "commit-ends"           // the snapshots are there
	StageCommits         Point = "stage-commits"         // the index is about to follow the snapshot
	StageCommitted       Point = "stage-committed"       // one stage of perhaps several
	LookupLogged         Point = "lookup-logged"         // values of a stage, or that it counts, are in the index's log
	LookupPagesWritten   Point = "lookup-pages-written"  // beside the index
	LookupPagesIngested  Point = "lookup-pages-ingested" // what they replace is still there
	Acknowledges         Point = "acknowledges"          // nobody knows of the commit yet
	Acknowledged         Point = "acknowledged"
	IndexCloses          Point = "index-closes"
	IndexClosed          Point = "index-closed"
)

// Points returns all points.
func Points() []Point {
	return []Point{
		DataFileWritten, ChangelogFileWritten, FileDurable, Level0Durable,
		IndexOpened, IndexRebuilding, IndexRebuilt, IndexCatchingUp, IndexCaughtUp,
		LookedUp, CompactionDone, StageFinished, CompactionsDurable,
		CommitBegins, CommitEnds, StageCommits, StageCommitted, Acknowledges, Acknowledged,
		LookupLogged, LookupPagesWritten, LookupPagesIngested,
		IndexCloses, IndexClosed,
	}
}

// Arming returns the value of [Env] that lets a process die when it passes a point
// for that time, the first being 1.
func Arming(p Point, time int) string { return fmt.Sprintf("%s:%d", p, time) }

// parse reads what Arming makes.
func parse(text string) (p Point, time int, err error) {
	name, number, ok := strings.Cut(text, ":")
	if time, err = strconv.Atoi(number); !ok || err != nil || time < 1 {
		return "", 0, fmt.Errorf("%s=%q: want POINT:TIME", Env, text)
	}
	if p = Point(name); !slices.Contains(Points(), p) {
		return "", 0, fmt.Errorf("%s=%q: no such point; there are %q", Env, text, Points())
	}
	return p, time, nil
}
