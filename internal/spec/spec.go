// Package spec reads the YAML documents that people write about tables: the
// definition of a table for `gateway table create`, and the case files of the
// conformance suite. It is, beside internal/config, the one owner of the YAML
// module.
package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"

	"sluice/paimon"
)

// ParseTable reads the definition of a table: schema and options. Unknown keys
// are refused with line and column; "steps", which a spec of the interop suite
// may have, are passed over.
func ParseTable(data []byte) (paimon.SchemaSpec, error) {
	var doc struct {
		paimon.SchemaSpec `yaml:",inline"`
		Steps             []any `yaml:"steps"`
	}
	if err := Strict(data, &doc); err != nil {
		return paimon.SchemaSpec{}, err
	}
	if len(doc.Schema.Fields) == 0 {
		return paimon.SchemaSpec{}, errors.New(`schema.fields is missing: name the columns, as in {fields: ["k INT NOT NULL", "v STRING"], pk: [k]}`)
	}
	return doc.SchemaSpec, nil
}

// Strict decodes one YAML (or JSON) document and refuses unknown keys.
func Strict(data []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return errors.New(strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	return nil
}

// Loose decodes one YAML (or JSON) document and passes over unknown keys.
func Loose(data []byte, into any) error {
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	return nil
}

// Format writes the definition of a table as YAML that [ParseTable] reads.
func Format(s paimon.SchemaSpec) ([]byte, error) {
	return yaml.MarshalWithOptions(s, yaml.Flow(false), yaml.IndentSequence(false))
}
