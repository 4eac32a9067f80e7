package lookup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"sluice/paimon/rowdata"
)

// ID names the bucket that an index belongs to.
type ID struct {
	// Table is the identity of this incarnation of the table: a table that is
	// dropped and created again has another.
	Table     string
	Branch    string
	Partition string // path of the partition below the table, "dt=1/"; "" without partitions
	Bucket    int
}

// String returns the ID as errors and metrics show it.
func (id ID) String() string {
	s := id.Table
	if id.Branch != "" && id.Branch != "main" {
		s += "@" + id.Branch
	}
	return fmt.Sprintf("%s/%sbucket-%d", s, id.Partition, id.Bucket)
}

// folder returns the name of the index's folder.
func (id ID) folder() string {
	h := sha256.New()
	for _, s := range []string{id.Table, id.Branch, id.Partition} {
		fmt.Fprintf(h, "%d:%s,", len(s), s)
	}
	fmt.Fprintf(h, "%d", id.Bucket)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Spec says what an index holds.
type Spec struct {
	// Row is the table's columns. An index of other columns or types is not
	// read but made anew.
	Row *rowdata.RowType
	// Key is the positions of the columns of the trimmed primary key, in their
	// order there.
	Key []int
	// KeyOnly leaves out the values: enough to tell whether a key is there, as
	// the merge engine first-row asks.
	KeyOnly bool
}

// validate tells what makes the spec useless.
func (s Spec) validate() error {
	if s.Row == nil || len(s.Key) == 0 {
		return fmt.Errorf("lookup spec: no row type or no key columns")
	}
	if len(s.Row.Fields) > maxColumns {
		return fmt.Errorf("lookup spec: %d columns, more than %d", len(s.Row.Fields), maxColumns)
	}
	for i, c := range s.Key {
		switch {
		case c < 0 || c >= len(s.Row.Fields):
			return fmt.Errorf("lookup spec: key column %d of %d columns", c, len(s.Row.Fields))
		case slices.Contains(s.Key[:i], c):
			return fmt.Errorf("lookup spec: key column %s twice", s.Row.Fields[c].Name)
		case s.Row.Fields[c].Type.IsNested():
			return fmt.Errorf("lookup spec: key column %s is %s, which has no order", s.Row.Fields[c].Name, s.Row.Fields[c].Type)
		}
	}
	return nil
}

// fingerprint identifies the layout of keys and values: format, types with
// nullability, ids and order of columns, key.
func (s Spec) fingerprint() ([16]byte, error) {
	type column struct {
		ID   int           `json:"id"`
		Type *rowdata.Type `json:"type"`
	}
	doc := struct {
		Format  int      `json:"format"`
		Columns []column `json:"columns"`
		Key     []int    `json:"key"`
		KeyOnly bool     `json:"keyOnly"`
	}{Format: formatVersion, Key: s.Key, KeyOnly: s.KeyOnly}
	for _, f := range s.Row.Fields {
		doc.Columns = append(doc.Columns, column{f.ID, f.Type})
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return [16]byte{}, fmt.Errorf("lookup spec: %w", err)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16]), nil
}
