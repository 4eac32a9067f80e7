package casefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
)

// Answer is what an engine did with a case: what a streaming reader got from
// the snapshots of each commit, and the rows of a batch read at the end.
type Answer struct {
	Name      string     `json:"name"`
	Changelog [][]Change `json:"changelog"`
	Final     []any      `json:"final"` // rows; nil after an error
	Kinds     [][]string `json:"snapshot_kinds"`
	Error     *Error     `json:"error,omitempty"`

	// Folds and Sequence are known of our own answers alone.
	Folds    []string   `json:"-"` // what breaks the invariants of a complete changelog, see [Fold]
	Sequence [][]int64  `json:"-"` // internal sequence number of every row of the changelog files
	Reads    [][]Change `json:"-"` // the case's incremental reads
}

// Change is a row that a streaming reader got.
type Change struct {
	Kind      string `json:"kind"`
	Row       any    `json:"row"`                 // list of values as encoding/json decodes them with UseNumber
	Partition string `json:"partition,omitempty"` // folder without the last slash, such as "p=x"
	Bucket    int    `json:"bucket,omitempty"`
}

// Text returns kind and values; equal changes have equal texts.
func (c Change) Text() string { return c.Kind + Canonical(c.Row) }

// Placed returns kind, values, and the folder of the bucket.
func (c Change) Placed() string {
	return fmt.Sprintf("%s in %s", c.Text(), path.Join(c.Partition, "bucket-"+strconv.Itoa(c.Bucket)))
}

// Error is what stopped an engine.
type Error struct {
	At      string `json:"at"` // create, read, or the number of the commit
	Class   string `json:"class"`
	Message string `json:"message"`
	Chain   string `json:"chain"`
	Cause   error  `json:"-"` // of our own
}

// History is a case with the answer of another engine, as a line of a file of
// histories has them.
type History struct {
	Case   Case   `json:"case"`
	Answer Answer `json:"answer"`
}

// ParseHistory reads a line of a file of histories.
func ParseHistory(line []byte) (*History, error) {
	h := &History{}
	if err := decodeInto(line, h); err != nil {
		return nil, err
	}
	return h, nil
}

// ParseAnswer reads a line that `oracle answer` prints.
func ParseAnswer(line []byte) (*Answer, error) {
	a := &Answer{}
	if err := decodeInto(line, a); err != nil {
		return nil, err
	}
	return a, nil
}

// ParseCase reads a case in JSON, such as a line that `oracle histories` prints.
func ParseCase(line []byte) (*Case, error) {
	c := &Case{}
	if err := decodeInto(line, c); err != nil {
		return nil, err
	}
	return c, nil
}

// Input returns the case as JSON, for an engine to answer: what is expected is
// left out.
func (c *Case) Input() ([]byte, error) {
	in := struct {
		Name    string            `json:"name"`
		Options map[string]string `json:"options"`
		Schema  inputSchema       `json:"schema"`
		Commits [][]Row           `json:"commits"`
		Steps   []Step            `json:"steps,omitempty"`
		Order   string            `json:"order,omitempty"`
	}{c.Name, c.Options, inputSchema{c.Schema.Fields, c.Schema.PK, c.Schema.Partition}, c.Commits, c.Steps, c.Order}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // types have angle brackets
	err := e.Encode(in)
	return bytes.TrimSpace(out.Bytes()), err
}

type inputSchema struct {
	Fields    []string `json:"fields"`
	PK        []string `json:"pk"`
	Partition []string `json:"partition,omitempty"`
}
