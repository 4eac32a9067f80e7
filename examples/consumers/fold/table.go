package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sluice/client"
)

// table is a copy of a table, and the position that it is of.
type table struct {
	Cursor   string                    `json:"cursor"`
	Snapshot int64                     `json:"snapshot"`
	Changes  [4]int64                  `json:"changes"` // by kind
	Rows     map[string]map[string]any `json:"rows"`    // by primary key; of an append table by number
}

// load reads a copy, an empty one if there is no file.
func load(file string) (*table, error) {
	t := &table{Rows: map[string]map[string]any{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // a BIGINT does not fit a float
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// save replaces the file. It is durable on return.
func (t *table) save(file string) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".fold-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // is gone after the rename
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// fold applies changes: +I and +U put a row, -D removes it, -U comes before the +U
// of the same key and changes nothing.
func (t *table) fold(rows *client.Rows) {
	key := make([]int, 0, len(rows.Schema.PrimaryKey))
	for _, name := range rows.Schema.PrimaryKey {
		key = append(key, rows.Schema.Index(name))
	}
	for i := range rows.Len() {
		kind := rows.Kind(i)
		t.Changes[kind]++
		id := keyOf(rows, key, i)
		if id == "" { // an append table
			id = fmt.Sprint(t.Changes[client.Insert])
		}
		switch kind {
		case client.Delete:
			delete(t.Rows, id)
		case client.Insert, client.UpdateAfter:
			row := make(map[string]any, len(rows.Schema.Fields))
			for column := range rows.Schema.Fields {
				row[rows.Schema.Fields[column].Name] = rows.Column(column).Value(i)
			}
			t.Rows[id] = row
		}
	}
}

// keyOf returns the values of the key columns as text that tells keys apart.
func keyOf(rows *client.Rows, key []int, i int) string {
	var id []byte
	for _, column := range key {
		if len(id) > 0 {
			id = append(id, ',')
		}
		text, _ := json.Marshal(rows.Column(column).Value(i)) // values of keys have a form
		id = append(id, text...)
	}
	return string(id)
}

func (t *table) String() string {
	return fmt.Sprintf("snapshot %d: %d rows after %d +I, %d -U, %d +U, %d -D", t.Snapshot, len(t.Rows), t.Changes[0], t.Changes[1], t.Changes[2], t.Changes[3])
}
