package fold

import (
	"fmt"
	"maps"
	"slices"
)

// Change is a row of a changelog. Equal keys have equal texts, and so have equal
// rows; key and row text need not be readable but for the messages.
type Change struct {
	Kind string // +I, -U, +U or -D
	Key  string // with the partition, if keys of several partitions can be equal
	Row  string
}

// Fold is a reader's image of a table.
type Fold struct {
	// KindsKept is set for merge engine first-row, which emits rows with the kind
	// they came with.
	KindsKept bool
	rows      map[string]string
	open      *Change // a -U whose +U must come next
}

// Apply applies changes in the order in which they were delivered, and returns
// what is wrong with them.
func (f *Fold) Apply(changes []Change) (problems []string) {
	if f.rows == nil {
		f.rows = map[string]string{}
	}
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, c := range changes {
		have, ok := f.rows[c.Key]
		if f.open != nil && (c.Kind != "+U" || c.Key != f.open.Key) {
			wrong("-U%s is followed by %s%s and not by its +U", f.open.Row, c.Kind, c.Row)
		}
		opened := f.open
		f.open = nil
		switch c.Kind {
		case "+I", "+U":
			paired := opened != nil && opened.Key == c.Key
			switch {
			case c.Kind == "+I" && ok:
				wrong("+I%s: the key is there, with %s", c.Row, have)
			case c.Kind == "+U" && f.KindsKept && !ok:
			case c.Kind == "+U" && !paired:
				wrong("+U%s without its -U", c.Row)
			}
			f.rows[c.Key] = c.Row
		case "-U", "-D":
			switch {
			case !ok:
				wrong("%s%s: the key is not there", c.Kind, c.Row)
			case have != c.Row:
				wrong("%s%s: the last image is %s", c.Kind, c.Row, have)
			}
			if c.Kind == "-U" {
				f.open = &c
			}
			delete(f.rows, c.Key)
		default:
			wrong("kind %q", c.Kind)
		}
	}
	return problems
}

// End tells what is wrong when no change follows, as at the end of a snapshot: a
// pair lies within one.
func (f *Fold) End() (problems []string) {
	if f.open != nil {
		problems = append(problems, fmt.Sprintf("-U%s without its +U", f.open.Row))
		f.open = nil
	}
	return problems
}

// Equal compares the image with the rows of a table, by key.
func (f *Fold) Equal(table map[string]string) (problems []string) {
	for _, k := range slices.Sorted(maps.Keys(table)) {
		switch have, ok := f.rows[k]; {
		case !ok:
			problems = append(problems, fmt.Sprintf("the table has %s, the changelog does not", table[k]))
		case have != table[k]:
			problems = append(problems, fmt.Sprintf("the table has %s, the changelog ends with %s", table[k], have))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(f.rows)) {
		if _, ok := table[k]; !ok {
			problems = append(problems, fmt.Sprintf("the changelog leaves %s, the table does not have it", f.rows[k]))
		}
	}
	return problems
}

// Rows returns a copy of the image, by key.
func (f *Fold) Rows() map[string]string { return maps.Clone(f.rows) }

// Reset sets the image, as after an overwrite, which delivers nothing.
func (f *Fold) Reset(table map[string]string) {
	f.rows, f.open = maps.Clone(table), nil
	if f.rows == nil {
		f.rows = map[string]string{}
	}
}
