package lsm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/script"
	"sluice/lsm/merge"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// TestTreeScripts runs the scripts in testdata/tree, about the levels of a bucket.
//
//	bucket [levels=N] [producer=none|lookup|first-row|full] [engine=sum|first-row] [seq] [trigger=N] [radical] [gently=N]
//	       [small=BYTES] [rewrite] [format=FORMAT] [dv] [row-deduplicate] [interval=N] [total=N] [updated=N] [offpeak=FROM-TO:RATIO]
//	file   lines "LEVEL NAME SIZE FROM..TO [seq=FROM..TO] [deletes=N|?] [made=N]": files of which only the meta is there
//	remove lines "LEVEL NAME"
//	runs   prints the runs in picking order
//	peek, full [NAME ...]   print what would be picked and how it would be compacted; N picks that find nothing: "nothing"
//	pick [N]  the same, remembered; N times
//	write  rows "KIND k f v": a level-0 file of real rows; with "write level=N" elsewhere
//	compact [full|force=NAME...]   picks, runs, and prints what became of it
func TestTreeScripts(t *testing.T) {
	script.Run(t, "testdata/tree/*.txt", func(t *testing.T) func(string, []string) string {
		s := &treeScript{t: t}
		return func(command string, input []string) string { return s.run(strings.Fields(command), input) }
	})
}

type treeScript struct {
	t    *testing.T
	tree *tree
}

func (s *treeScript) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(s.t, err)
	return n
}

func (s *treeScript) run(cmd, input []string) string {
	switch cmd[0] {
	case "bucket":
		s.newBucket(cmd[1:])
		return ""
	case "file":
		var files []manifest.DataFile
		for _, line := range input {
			files = append(files, s.file(strings.Fields(line)))
		}
		return s.outcome(s.tree.levels.Update(nil, files))
	case "remove":
		var files []manifest.DataFile
		for _, line := range input {
			f := strings.Fields(line)
			files = append(files, manifest.DataFile{Level: int32(s.number(f[0])), FileName: f[1]})
		}
		return s.outcome(s.tree.levels.Update(files, nil))
	case "runs":
		out := fmt.Sprintf("top %d, highest %d, %d runs\n", s.tree.levels.Top(), s.tree.levels.HighestNonEmpty(), s.tree.levels.NumRuns())
		for _, r := range s.tree.levels.Runs() {
			out += fmt.Sprintf("%d: %s, %d bytes\n", r.Level, names(r.Files), r.Size)
		}
		return out
	case "peek":
		return s.plan(s.tree.picker.Peek(s.tree.levels.Runs(), s.tree.levels.Top(), s.tree.now))
	case "pick":
		n := 1
		if len(cmd) > 1 {
			n = int(s.number(cmd[1]))
		}
		out := ""
		for range n {
			out += s.plan(s.tree.picker.Pick(s.tree.levels.Runs(), s.tree.levels.Top(), s.tree.now))
			s.tree.now = s.tree.now.Add(time.Second)
		}
		return out
	case "full":
		return s.plan(PickFull(s.tree.levels.Runs(), s.tree.levels.Top(), func(f *File) bool { return slices.Contains(cmd[1:], f.FileName) }))
	case "write":
		s.write(cmd[1:], input)
		return ""
	case "compact":
		return s.compact(cmd[1:])
	}
	require.FailNow(s.t, "unknown command", cmd[0])
	return ""
}

func (s *treeScript) outcome(err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return ""
}

func names(files []*File) string {
	var out []string
	for _, f := range files {
		out = append(out, f.FileName)
	}
	return strings.Join(out, " ")
}

func (s *treeScript) newBucket(options []string) {
	spec := treeSpec{producer: "none", levels: 6, pick: DefaultPickOptions(), engine: merge.Engine{Name: "deduplicate", Keep: merge.Deduplicate{}}}
	spec.opts.SmallBytes = 50
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "levels":
			spec.levels = int(s.number(value))
		case "producer":
			spec.producer = value
		case "engine":
			spec.engine = adding()
			if value == "first-row" {
				spec.engine = merge.Engine{Name: value, Keep: merge.FirstRow{}}
			}
		case "seq":
			spec.order.Fields = []int{1}
		case "trigger":
			spec.pick.Trigger = int(s.number(value))
		case "radical":
			spec.pick.Force = ForceRadical
		case "gently":
			spec.pick.Force, spec.pick.GentleInterval = ForceGently, int(s.number(value))
		case "interval":
			spec.pick.FullInterval = time.Duration(s.number(value)) * time.Second
		case "total":
			spec.pick.FullTotalBytes = s.number(value)
		case "updated":
			spec.pick.FullUpdatedBytes = s.number(value)
		case "offpeak":
			_, err := fmt.Sscanf(value, "%d-%d:%d", &spec.pick.OffPeakStart, &spec.pick.OffPeakEnd, &spec.pick.OffPeakRatio)
			require.NoError(s.t, err)
		case "small":
			spec.opts.SmallBytes = s.number(value)
		case "rewrite":
			spec.opts.ForceRewrite = true
		case "format":
			spec.opts.Format = func(int32) string { return value }
		case "dv":
			spec.opts.DeletionVectors = true
		case "row-deduplicate":
			spec.dedup = true
		default:
			require.FailNow(s.t, "unknown option", o)
		}
	}
	s.tree = newTree(s.t.Context(), s.t, spec)
}

func (s *treeScript) file(f []string) manifest.DataFile {
	span := func(text string) (from, to int64) {
		a, b, _ := strings.Cut(text, "..")
		return s.number(a), s.number(b)
	}
	key := func(k int64) []byte {
		v := rowdata.NewVector(scriptType.Fields[0].Type, 1)
		v.AppendI32(int32(k))
		return rowdata.AppendManifestRow(nil, []*rowdata.Vector{v}, 0)
	}
	from, to := span(f[3])
	d := manifest.DataFile{
		Level: int32(s.number(f[0])), FileName: f[1], FileSize: s.number(f[2]), MinKey: key(from), MaxKey: key(to), DeleteRowCount: new(int64),
	}
	for _, o := range f[4:] {
		name, value, _ := strings.Cut(o, "=")
		switch {
		case name == "seq":
			d.MinSeq, d.MaxSeq = span(value)
		case name == "made":
			d.CreationTime, d.HasCreationTime = s.number(value), true
		case name == "deletes" && value == "?":
			d.DeleteRowCount = nil
		case name == "deletes":
			d.DeleteRowCount = new(s.number(value))
		default:
			require.FailNow(s.t, "unknown option", o)
		}
	}
	return d
}

// plan prints a pick and the steps of its compaction.
func (s *treeScript) plan(p Pick, ok bool) string {
	if !ok {
		return "nothing\n"
	}
	c := NewCompaction(s.tree.levels.Runs(), s.tree.levels.Top(), p, s.tree.producer, s.tree.opts)
	out := fmt.Sprintf("%d runs to level %d: %s", p.Runs, p.Output, p.Reason)
	if c.Plan.DropDelete {
		out += ", drops deletes"
	}
	out += "\n"
	for _, step := range c.Steps {
		out += "  " + describe(&step) + "\n"
	}
	return out
}

func describe(s *Step) string {
	if s.File != nil {
		if s.Report {
			return "move and report " + s.File.FileName
		}
		return "move " + s.File.FileName
	}
	var sections []string
	for _, section := range s.Sections {
		var runs []string
		for _, r := range section {
			runs = append(runs, names(r.Files))
		}
		sections = append(sections, strings.Join(runs, " + "))
	}
	out := "rewrite " + strings.Join(sections, " | ")
	if s.DropDelete {
		out += " without deletes"
	}
	return out
}

func (s *treeScript) write(options, input []string) {
	level := int32(0)
	if len(options) > 0 {
		level = int32(s.number(strings.TrimPrefix(options[0], "level=")))
	}
	kv := rowdata.NewKeyValues(scriptType, 0)
	for _, line := range input {
		f := strings.Fields(line)
		kind, err := rowdata.ParseRowKind(f[0])
		require.NoError(s.t, err)
		kv.Kinds, kv.Seq = append(kv.Kinds, kind), append(kv.Seq, s.tree.seq)
		s.tree.seq++
		for i, text := range f[1:] {
			if text == "-" {
				kv.Cols[i].AppendNull()
				continue
			}
			require.NoError(s.t, rowdata.AppendParsed(kv.Cols[i], text))
		}
		kv.CloseRow()
	}
	s.tree.putFile(kv, level)
}

// compact runs a compaction and prints its steps, files and rows.
func (s *treeScript) compact(options []string) string {
	runs, top := s.tree.levels.Runs(), s.tree.levels.Top()
	var (
		pick Pick
		ok   bool
	)
	if slices.Contains(options, "full") {
		pick, ok = PickFull(runs, top, func(f *File) bool { return slices.Contains(options, f.FileName) })
	} else {
		pick, ok = s.tree.picker.Pick(runs, top, s.tree.now)
	}
	out := s.plan(pick, ok)
	if !ok {
		return out
	}
	s.tree.index.asked = 0
	c := NewCompaction(runs, top, pick, s.tree.producer, s.tree.opts)
	result, err := c.Run(s.tree.ctx, s.tree.job)
	if err != nil {
		s.tree.index.stage, s.tree.index.last = nil, nil
		for _, f := range slices.Concat(result.After, result.Changelog) {
			out += "left " + f.FileName + "\n"
		}
		return out + "error: " + err.Error() + "\n"
	}
	require.NoError(s.t, s.tree.levels.Update(result.Before, result.After))
	s.tree.index.commit()
	s.tree.check(&result)
	out += s.show("data", result.After) + s.show("changelog", result.Changelog)
	if s.tree.index.asked > 0 {
		out += fmt.Sprintln("asked the index for", s.tree.index.asked)
	}
	return out
}

func (s *treeScript) show(what string, files []manifest.DataFile) string {
	out := ""
	for i := range files {
		f := &files[i]
		out += fmt.Sprintf("%s %s level %d, source %d\n", what, f.FileName, f.Level, *f.Source)
		kv := s.tree.rows(f)
		for k := range kv.N {
			out += "  " + recordText(kv, k) + "\n"
		}
	}
	return out
}

var _ Resolver = (producer.Producer)(nil)
