// Package casefile runs the case files of the conformance suite on our engine:
// YAML or JSON documents that say what is written to a table and which changes
// and rows must come out. The format is described at the top of
// testdata/cases/changelog-cases.yaml.
package casefile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

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
	Sequence  any                `yaml:"changelog_seq"`
	Kinds     [][]string         `yaml:"snapshot_kinds"`
	Filler    int                `yaml:"filler"`
	Order     string             `yaml:"order"`
	Reads     []Incremental      `yaml:"incremental"`
	Error     *Failure           `yaml:"error"`
	Final     []any              `yaml:"final"`
	Why       string             `yaml:"why"`
	Certainty string             `yaml:"certainty"`
}

// Row is a change.
type Row struct {
	Kind string `yaml:"kind" json:"kind"`
	Row  []any  `yaml:"row" json:"row"`
}

// Step modifies a commit.
type Step struct {
	Compact string            `yaml:"compact"`
	Reopen  bool              `yaml:"reopen"`
	Mode    string            `yaml:"mode"`
	Dynamic map[string]string `yaml:"dynamic"`
	Alter   []string          `yaml:"alter"`
}

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
	if err := spec.Loose(data, &doc); err != nil || len(doc.Cases) == 0 {
		if listErr := spec.Loose(data, &doc.Cases); listErr != nil {
			if err == nil {
				err = listErr
			}
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	if len(doc.Cases) == 0 {
		return nil, fmt.Errorf("%s: no cases", filepath.Base(file))
	}
	return doc.Cases, nil
}

// asJSON turns a value from YAML into what encoding/json gives with UseNumber.
func asJSON(x any) (any, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	return decode(text)
}
