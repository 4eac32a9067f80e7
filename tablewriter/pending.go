package tablewriter

import (
	"sluice/paimon/manifest"
)

// pending is what compactions of a bucket did since its last commit: the compact
// part of its next message (semantics section 1.6).
type pending struct {
	before, after []manifest.DataFile
	changelog     []manifest.DataFile
}

func (p *pending) isEmpty() bool {
	return len(p.before) == 0 && len(p.after) == 0 && len(p.changelog) == 0
}

// add takes the result of one more compaction. A file that was made and used up
// since the last commit is named in neither list: it is returned, to be deleted,
// unless it lives on under another level.
func (p *pending) add(before, after, changelog []manifest.DataFile) (unused []manifest.DataFile) {
	for i := range before {
		f := &before[i]
		k := position(p.after, at(f))
		if k < 0 {
			p.before = append(p.before, *f)
			continue
		}
		p.after = append(p.after[:k], p.after[k+1:]...)
		if !named(p.before, f.FileName) && !named(after, f.FileName) {
			unused = append(unused, *f)
		}
	}
	p.after = append(p.after, after...)
	p.changelog = append(p.changelog, changelog...)
	return unused
}

// made returns the files that exist for these compactions alone: what to delete if
// they are given up.
func (p *pending) made() []manifest.DataFile {
	var out []manifest.DataFile
	for i := range p.after {
		if !named(p.before, p.after[i].FileName) {
			out = append(out, p.after[i])
		}
	}
	return append(out, p.changelog...)
}

func position(files []manifest.DataFile, want fileAt) int {
	for i := range files {
		if at(&files[i]) == want {
			return i
		}
	}
	return -1
}

func named(files []manifest.DataFile, name string) bool {
	for i := range files {
		if files[i].FileName == name {
			return true
		}
	}
	return false
}
