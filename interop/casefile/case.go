// Package casefile is the format of the conformance suite: case files, YAML or
// JSON documents that say what is written to a table and which changes and rows
// must come out, and files of histories, which are cases with the answer of another
// engine. The format of cases is described at the top of
// testdata/cases/changelog-cases.yaml. Package runner does on our engine what a
// case says.
package casefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sluice/internal/spec"
	"sluice/paimon"
)

// Case is one table with what is done to it and what must come of it.
type Case struct {
	Name      string             `yaml:"name"`
	Options   map[string]string  `yaml:"options"`
	Schema    paimon.ColumnsSpec `yaml:"schema"`
	Commits   [][]Row            `yaml:"commits"`
	Steps     []Step             `yaml:"steps"`
	Changelog []any              `yaml:"changelog"` // a list of Row for each commit, or "none"
	Sequence  [][]int64          `yaml:"changelog_seq"`
	Kinds     [][]string         `yaml:"snapshot_kinds"`
	Filler    int                `yaml:"filler"`
	Order     string             `yaml:"order"`
	Reads     []Incremental      `yaml:"incremental"`
	Error     *Failure           `yaml:"error"`
	Final     []any              `yaml:"final"`
	Why       string             `yaml:"why"`
	Certainty string             `yaml:"certainty"`
}

// Row is a change. Values are as encoding/json decodes them with UseNumber.
type Row struct {
	Kind string `yaml:"kind" json:"kind"`
	Row  []any  `yaml:"row" json:"row"`
}

// Step modifies a commit. The fields after Alter are not part of the format that
// other engines know.
type Step struct {
	Compact string            `yaml:"compact" json:"compact,omitempty"`
	Reopen  bool              `yaml:"reopen" json:"reopen,omitempty"`
	Mode    string            `yaml:"mode" json:"mode,omitempty"`
	Dynamic map[string]string `yaml:"dynamic" json:"dynamic,omitempty"`
	Alter   []string          `yaml:"alter" json:"alter,omitempty"`
	// Crash drops the writer as it stands before the commit, index and all that
	// was not committed.
	Crash bool `yaml:"crash" json:"crash,omitempty"`
	// Index is done to the lookup index before the commit: save keeps a copy as a
	// crash would leave it; the others close the writer: old puts the copy back,
	// delete, cut, and flip (a bit of each file) destroy what is there.
	Index string `yaml:"index" json:"index,omitempty"`
	// User: the commit is that of a compactor beside the writer, which has no rows
	// and compacts all buckets, fully if the step says so.
	User string `yaml:"user" json:"user,omitempty"`
	// Writer is which of several writers that are open at once makes the commit;
	// each has a commit user and indexes of its own.
	Writer int `yaml:"writer" json:"writer,omitempty"`
}

// What can be done to the lookup index (Step.Index).
const (
	IndexSave   = "save"   // a copy is kept, as a crash at this moment would leave it
	IndexOld    = "old"    // the copy that was kept is put back
	IndexDelete = "delete" // all files are deleted
	IndexCut    = "cut"    // each file loses its second half
	IndexFlip   = "flip"   // a bit of each file is turned over
)

// Incremental is a batch read of the changes between two snapshots.
type Incremental struct {
	Between []int64 `yaml:"between"`
	Mode    string  `yaml:"mode"`
	Rows    any     `yaml:"rows"`
	Order   string  `yaml:"order"`
}

// Failure is what must go wrong.
type Failure struct {
	At       any    `yaml:"at"` // create, or the number of the commit
	Class    string `yaml:"class"`
	Contains string `yaml:"contains"`
	Text     string `yaml:"text"`
}

// Load reads a case file: {cases: [...]}, or a list of cases.
func Load(file string) ([]Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Version any    `yaml:"version"`
		Cases   []Case `yaml:"cases"`
	}
	if err := spec.Loose(data, &doc); err != nil {
		if spec.Loose(data, &doc.Cases) != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	if len(doc.Cases) == 0 {
		return nil, fmt.Errorf("%s: no cases", filepath.Base(file))
	}
	for i := range doc.Cases {
		if err := doc.Cases[i].normalize(); err != nil {
			return nil, fmt.Errorf("%s: case %s: %w", filepath.Base(file), doc.Cases[i].Name, err)
		}
	}
	return doc.Cases, nil
}

// normalize turns the values of rows into what encoding/json gives.
func (c *Case) normalize() error {
	for _, commit := range c.Commits {
		for i := range commit {
			x, err := asJSON(commit[i].Row)
			if err != nil {
				return err
			}
			commit[i].Row, _ = x.([]any)
		}
	}
	return nil
}

// StepOf returns what modifies commit i, from 0.
func (c *Case) StepOf(i int) Step {
	if i < len(c.Steps) {
		return c.Steps[i]
	}
	return Step{}
}

func decodeInto(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// asJSON turns a value from YAML into what encoding/json gives with UseNumber.
func asJSON(x any) (any, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	return Decode(text)
}

// KeyText renders the primary key of a row; equal keys have equal texts.
func (c *Case) KeyText(x any) string {
	row, _ := x.([]any)
	var out []any
	for _, k := range c.Schema.PK {
		for i, f := range c.Schema.Fields {
			if name, _, _ := strings.Cut(f, " "); name == k && i < len(row) {
				out = append(out, row[i])
			}
		}
	}
	return Canonical(out)
}
