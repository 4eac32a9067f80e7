package paimon

import (
	"fmt"
	"slices"
	"strings"

	"sluice/paimon/rowdata"
)

// SchemaSpec is the definition of a table as a user writes it.
type SchemaSpec struct {
	Schema  ColumnsSpec       `yaml:"schema" json:"schema"`
	Options map[string]string `yaml:"options,omitempty" json:"options,omitempty"`
}

// ColumnsSpec are the columns and keys of a [SchemaSpec].
type ColumnsSpec struct {
	// Fields are texts such as "k INT NOT NULL" or "v STRING DEFAULT 'x' COMMENT 'c'".
	Fields    []string `yaml:"fields" json:"fields"`
	PK        []string `yaml:"pk,omitempty" json:"pk,omitempty"`
	Partition []string `yaml:"partition,omitempty" json:"partition,omitempty"`
	Comment   *string  `yaml:"comment,omitempty" json:"comment,omitempty"`
}

// NewSchema makes the first schema of a table: columns get their ids, the
// options primary-key and partition become keys, primary key columns become NOT
// NULL, and everything is checked. The error of a refusal is a
// [*ValidationError] or [*OptionError].
func NewSchema(spec SchemaSpec, timeMillis int64) (*Schema, error) {
	s := &Schema{
		Version: SchemaVersion, HighestFieldID: -1, TimeMillis: timeMillis,
		PrimaryKeys: slices.Clone(spec.Schema.PK), PartitionKeys: slices.Clone(spec.Schema.Partition),
		Options: make(Options, len(spec.Options)), Comment: spec.Schema.Comment,
	}
	for k, v := range spec.Options {
		s.Options[k] = v
	}
	for _, text := range spec.Schema.Fields {
		f, err := ParseField(text)
		if err != nil {
			return nil, err
		}
		s.HighestFieldID++
		f.ID = s.HighestFieldID
		f.Type = assignIDs(f.Type, &s.HighestFieldID)
		s.Fields = append(s.Fields, f)
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	return s, nil
}

// settle makes keys of the options that mean keys, gives key columns their
// nullability, and checks everything.
func (s *Schema) settle() error {
	if err := s.moveKeyOptions(); err != nil {
		return err
	}
	if err := s.checkNames(); err != nil {
		return err
	}
	nullable, err := s.Options.Bool(OptPrimaryKeyNullable)
	if err != nil {
		return err
	}
	for _, k := range s.KeyCols() {
		if nullable {
			s.Fields[k].Type = s.Fields[k].Type.Nullable()
		} else {
			s.Fields[k].Type = s.Fields[k].Type.AsNotNull()
		}
	}
	return s.Validate()
}

// moveKeyOptions makes keys of the options primary-key and partition.
func (s *Schema) moveKeyOptions() error {
	for _, k := range []struct {
		option, what string
		keys         *[]string
	}{{OptPrimaryKey, "primary key", &s.PrimaryKeys}, {OptPartition, "partition", &s.PartitionKeys}} {
		text, ok := s.Options[k.option]
		if !ok {
			continue
		}
		if len(*k.keys) > 0 {
			return refuseOption(k.option, "Cannot define %s on DDL and table options at the same time.", k.what)
		}
		*k.keys = splitNames(text)
		delete(s.Options, k.option)
	}
	return nil
}

// assignIDs returns the type with new ids for the members of its rows. Within a
// row, what is nested in a member is numbered before the member (format section
// 2.4).
func assignIDs(t *rowdata.Type, highest *int) *rowdata.Type {
	if !t.IsNested() || t.Root == rowdata.Variant {
		return t
	}
	c := *t
	if t.Key != nil {
		c.Key = assignIDs(t.Key, highest)
	}
	if t.Elem != nil {
		c.Elem = assignIDs(t.Elem, highest)
	}
	c.Fields = slices.Clone(t.Fields)
	for i := range c.Fields {
		c.Fields[i].Type = assignIDs(c.Fields[i].Type, highest)
		*highest++
		c.Fields[i].ID = *highest
	}
	return &c
}

// ParseField reads the text of a column: name, type, then DEFAULT 'text' and
// COMMENT 'text', both optional. The name may stand in backticks. Types are those
// of [rowdata.ParseType]; members of a ROW may have a COMMENT too. The field has
// no id yet.
func ParseField(text string) (rowdata.Field, error) {
	s := strings.TrimSpace(text)
	name, rest, err := cutName(s)
	if err != nil {
		return rowdata.Field{}, fmt.Errorf("column %q: %w", text, err)
	}
	f := rowdata.Field{Name: name}
	rest, comment, err := cutClause(rest, "COMMENT")
	if err != nil {
		return rowdata.Field{}, fmt.Errorf("column %q: %w", text, err)
	}
	if comment != nil {
		f.Description = *comment
	}
	if rest, f.Default, err = cutClause(rest, "DEFAULT"); err != nil {
		return rowdata.Field{}, fmt.Errorf("column %q: %w", text, err)
	}
	if f.Type, err = parseFieldType(rest); err != nil {
		return rowdata.Field{}, fmt.Errorf("column %q: %w", text, err)
	}
	return f, nil
}

// parseFieldType reads a type whose row members may have a COMMENT clause.
func parseFieldType(text string) (*rowdata.Type, error) {
	var b strings.Builder
	for {
		at := clauseIndex(text, "COMMENT", false)
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		text = text[at+len("COMMENT"):]
	}
	b.WriteString(text)
	return rowdata.ParseType(b.String())
}

// cutName splits a text after the name at its beginning, which is in backticks
// or ends at white space.
func cutName(s string) (name, rest string, err error) {
	if strings.HasPrefix(s, "`") {
		return cutQuoted(s, '`')
	}
	end := strings.IndexAny(s, " \t\r\n")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return "", "", fmt.Errorf("there is no name")
	}
	return s[:end], strings.TrimSpace(s[end:]), nil
}

// cutQuoted splits a text after the quoted text at its beginning, in which the
// quote is doubled.
func cutQuoted(s string, quote byte) (value, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != quote {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		if b.Len() == 0 && quote == '`' {
			break
		}
		return b.String(), strings.TrimSpace(s[i+1:]), nil
	}
	return "", "", fmt.Errorf("the quote %c is not closed or holds nothing", quote)
}

// cutClause splits off the clause WORD 'text' at the end of s.
func cutClause(s, word string) (before string, value *string, err error) {
	at := clauseIndex(s, word, true)
	if at < 0 {
		return s, nil, nil
	}
	tail := strings.TrimSpace(s[at+len(word):])
	if !strings.HasPrefix(tail, "'") {
		return "", nil, fmt.Errorf("%s wants a text in quotes", word)
	}
	text, rest, err := cutQuoted(tail, '\'')
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", word, err)
	}
	if rest != "" {
		return "", nil, fmt.Errorf("%q after the clause %s is too much", rest, word)
	}
	return strings.TrimSpace(s[:at]), &text, nil
}

// clauseIndex returns where the word stands outside of quotes, followed by a
// quote, or -1; top: outside of brackets too.
func clauseIndex(s, word string, top bool) int {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '`':
			quote = c
		case c == '<' || c == '(':
			depth++
		case c == '>' || c == ')':
			depth--
		case top && depth != 0:
		case i > 0 && isSpace(s[i-1]) && len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word):
			rest := s[i+len(word):]
			if top && (rest == "" || isSpace(rest[0]) || rest[0] == '\'') || strings.HasPrefix(strings.TrimSpace(rest), "'") {
				return i
			}
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// FieldText returns the text that [ParseField] reads back.
func FieldText(f *rowdata.Field) string {
	var b strings.Builder
	b.WriteString(quoteName(f.Name))
	b.WriteByte(' ')
	b.WriteString(f.Type.String())
	if f.Default != nil {
		b.WriteString(" DEFAULT " + quoteText(*f.Default))
	}
	if f.Description != "" {
		b.WriteString(" COMMENT " + quoteText(f.Description))
	}
	return b.String()
}

// quoteName puts a name in backticks where it would not be read back without.
func quoteName(name string) string {
	if name != "" && !strings.ContainsAny(name, "` \t\r\n.'") {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
