//go:build interop

package paimonjava

import (
	"errors"
	"fmt"
	"strings"

	"sluice/interop/oracle"
)

// verify fails the test with what Java's audit finds in the table and all its
// branches.
func (f *table) verify() {
	f.Helper()
	for _, p := range f.problems() {
		f.Errorf("verify: %s", p)
	}
}

// problems returns what the audit finds.
func (f *table) problems(options ...string) []string {
	f.Helper()
	lines, err := java(append([]string{"verify", f.dir, "--quiet"}, options...)...)
	var failed *oracle.Error
	if err != nil && !(errors.As(err, &failed) && failed.Exit == 1) {
		f.Fatal(err)
	}
	return lines
}

// agree checks that the table is sound and that both sides read the same: the
// rows of now and the changes of all snapshots.
func (f *table) agree() {
	f.Helper()
	f.verify()
	f.sameRows(where{}, "")
	from, to := f.span("")
	f.sameChanges("", from, to)
}

func (f *table) sameRows(w where, filter string) {
	f.Helper()
	f.same(fmt.Sprintf("rows %+v %s", w, filter), f.javaRows(w, filter), f.rows(w, filter))
}

func (f *table) sameChanges(branch string, from, to int64) {
	f.Helper()
	f.same(fmt.Sprintf("changes %d to %d", from, to), f.javaChanges(branch, from, to), f.changes(branch, from, to))
}

// same fails the test if two lists of lines differ, with the lines around the
// first difference.
func (f *table) same(what string, java, ours []string) {
	f.Helper()
	for i := range max(len(java), len(ours)) {
		if i < len(java) && i < len(ours) && java[i] == ours[i] {
			continue
		}
		f.Fatalf("%s: line %d differs (%d lines of Java, %d of ours)\nJava:\n%s\nours:\n%s",
			what, i, len(java), len(ours), around(java, i), around(ours, i))
	}
}

func around(lines []string, i int) string {
	from, to := min(max(0, i-1), len(lines)), min(len(lines), i+3)
	return "  " + strings.Join(lines[from:to], "\n  ")
}
