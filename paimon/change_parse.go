package paimon

import (
	"fmt"
	"strings"
)

// ParseChange reads the text of a schema change, keywords in any case:
//
//	add column [r.]x TYPE [DEFAULT 'v'] [COMMENT 'c'] [FIRST | LAST | AFTER y | BEFORE y]
//	drop column x
//	rename column x to y
//	alter column x type T | nullable | not null | comment 'c' | default 'v' | drop default | first | last | after y | before y
//	set option k=v
//	reset option k
//	comment 'text'
//	drop comment
//	drop primary key
//
// Steps of a path are joined by dots; a name that has dots or blanks stands in
// backticks. A type without NULL or NOT NULL keeps the column's nullability.
func ParseChange(text string) (Change, error) {
	c, err := parseChange(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("schema change %q: %w", text, err)
	}
	return c, nil
}

func parseChange(s string) (Change, error) {
	if rest, ok := cutWords(s, "set", "option"); ok {
		key, value, ok := strings.Cut(rest, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("want set option KEY=VALUE")
		}
		return SetOption{Key: key, Value: strings.TrimSpace(value)}, nil
	}
	if rest, ok := cutWords(s, "reset", "option"); ok {
		if rest == "" {
			return nil, fmt.Errorf("want reset option KEY")
		}
		return ResetOption{Key: rest}, nil
	}
	if _, ok := cutAll(s, "drop", "primary", "key"); ok {
		return DropPrimaryKey{}, nil
	}
	if _, ok := cutAll(s, "drop", "comment"); ok {
		return ChangeComment{}, nil
	}
	if rest, ok := cutWords(s, "comment"); ok {
		text, err := unquoteText(rest)
		if err != nil {
			return nil, err
		}
		return ChangeComment{Comment: &text}, nil
	}
	for _, verb := range []string{"add", "drop", "rename", "alter"} {
		rest, ok := cutWords(s, verb, "column")
		if !ok {
			continue
		}
		path, rest, err := cutPath(rest)
		if err != nil {
			return nil, err
		}
		return parseColumnChange(verb, path, rest)
	}
	return nil, fmt.Errorf("want add, drop, rename or alter column, set or reset option, comment, drop comment or drop primary key")
}

func parseColumnChange(verb string, path []string, rest string) (Change, error) {
	switch verb {
	case "add":
		return parseAddColumn(path, rest)
	case "drop":
		if rest != "" {
			return nil, fmt.Errorf("%q is too much", rest)
		}
		return DropColumn{Path: path}, nil
	case "rename":
		to, ok := cutWords(rest, "to")
		if !ok {
			return nil, fmt.Errorf("want rename column x to y")
		}
		name, err := wholeName(to)
		if err != nil {
			return nil, err
		}
		return RenameColumn{Path: path, To: name}, nil
	}
	return parseAlterColumn(path, rest)
}

func parseAddColumn(path []string, rest string) (Change, error) {
	rest, move, err := cutMove(rest)
	if err != nil {
		return nil, err
	}
	f, err := ParseField(quoteName(path[len(path)-1]) + " " + rest)
	if err != nil {
		return nil, err
	}
	return AddColumn{Path: path, Type: f.Type, Description: f.Description, Default: f.Default, Move: move}, nil
}

func parseAlterColumn(path []string, rest string) (Change, error) {
	if text, ok := cutWords(rest, "type"); ok {
		t, err := parseFieldType(text)
		if err != nil {
			return nil, err
		}
		keep := !strings.HasSuffix(strings.ToUpper(text), "NULL")
		return ChangeColumnType{Path: path, Type: t, KeepNullability: keep}, nil
	}
	for _, words := range [][]string{{"nullable"}, {"drop", "not", "null"}, {"not", "null"}, {"set", "not", "null"}} {
		if _, ok := cutAll(rest, words...); ok {
			return ChangeColumnNullability{Path: path, Nullable: words[0] == "nullable" || words[0] == "drop"}, nil
		}
	}
	if text, ok := cutWords(rest, "comment"); ok {
		comment, err := unquoteText(text)
		if err != nil {
			return nil, err
		}
		return ChangeColumnComment{Path: path, Comment: comment}, nil
	}
	if _, ok := cutAll(rest, "drop", "default"); ok {
		return ChangeColumnDefault{Path: path}, nil
	}
	if text, ok := cutWords(rest, "default"); ok {
		value, err := unquoteText(text)
		if err != nil {
			return nil, err
		}
		return ChangeColumnDefault{Path: path, Default: &value}, nil
	}
	before, move, err := cutMove(rest)
	if err != nil {
		return nil, err
	}
	if move.Kind == MoveNone || before != "" {
		return nil, fmt.Errorf("want alter column x with type, nullable, not null, comment, default, first, last, after or before")
	}
	return MoveColumn{Path: path, Move: move}, nil
}

// cutMove splits off FIRST, LAST, AFTER y or BEFORE y at the end of s.
func cutMove(s string) (before string, m Move, err error) {
	words := topWords(s)
	if n := len(words); n > 0 {
		last := words[n-1]
		switch strings.ToUpper(s[last.from:last.to]) {
		case "FIRST":
			return strings.TrimSpace(s[:last.from]), Move{Kind: MoveFirst}, nil
		case "LAST":
			return strings.TrimSpace(s[:last.from]), Move{Kind: MoveLast}, nil
		}
		if n > 1 {
			word := words[n-2]
			kind := map[string]MoveKind{"AFTER": MoveAfter, "BEFORE": MoveBefore}[strings.ToUpper(s[word.from:word.to])]
			if kind != MoveNone {
				ref, err := wholeName(s[last.from:last.to])
				return strings.TrimSpace(s[:word.from]), Move{Kind: kind, Ref: ref}, err
			}
		}
	}
	return s, Move{}, nil
}

type span struct{ from, to int }

// topWords finds the words of s that are outside of brackets. A text in quotes
// belongs to its word.
func topWords(s string) []span {
	var words []span
	depth, from := 0, -1
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '<' || c == '(':
			depth++
		case c == '>' || c == ')':
			depth--
		}
		if isSpace(c) && depth <= 0 {
			if from >= 0 {
				words = append(words, span{from, i})
			}
			from = -1
			continue
		}
		if c == '\'' || c == '`' {
			quote = c
		}
		if from < 0 {
			from = i
		}
	}
	if from >= 0 {
		words = append(words, span{from, len(s)})
	}
	return words
}

// cutWords returns what follows these words at the beginning of s.
func cutWords(s string, words ...string) (rest string, ok bool) {
	for _, w := range words {
		s = strings.TrimSpace(s)
		if len(s) < len(w) || !strings.EqualFold(s[:len(w)], w) {
			return "", false
		}
		s = s[len(w):]
		if s != "" && !isSpace(s[0]) && s[0] != '\'' {
			return "", false
		}
	}
	return strings.TrimSpace(s), true
}

// cutAll tells whether s is these words.
func cutAll(s string, words ...string) (rest string, ok bool) {
	rest, ok = cutWords(s, words...)
	return rest, ok && rest == ""
}

// cutPath splits a text after the path at its beginning.
func cutPath(s string) (path []string, rest string, err error) {
	for {
		var name string
		if strings.HasPrefix(s, "`") {
			// What follows the quote tells whether the path goes on.
			if name, _, err = cutQuoted(s, '`'); err != nil {
				return nil, "", err
			}
			s = s[len("``")+len(strings.ReplaceAll(name, "`", "``")):]
		} else {
			end := strings.IndexAny(s, ". \t\r\n")
			if end < 0 {
				end = len(s)
			}
			name, s = s[:end], s[end:]
		}
		if name == "" {
			return nil, "", fmt.Errorf("a step of the column's path is empty")
		}
		path = append(path, name)
		if len(path) > depthMax {
			return nil, "", fmt.Errorf("the column's path has more than %d steps", depthMax)
		}
		if !strings.HasPrefix(s, ".") {
			if s != "" && !isSpace(s[0]) {
				return nil, "", fmt.Errorf("%q follows the column's path", s)
			}
			return path, strings.TrimSpace(s), nil
		}
		s = s[1:]
	}
}

// wholeName reads a text that is a name, in backticks or without blanks.
func wholeName(s string) (string, error) {
	name, rest, err := cutName(strings.TrimSpace(s))
	if err != nil {
		return "", err
	}
	if rest != "" {
		return "", fmt.Errorf("%q is too much", rest)
	}
	return name, nil
}

// unquoteText reads a text in quotes, or one without.
func unquoteText(s string) (string, error) {
	if !strings.HasPrefix(s, "'") {
		return s, nil
	}
	text, rest, err := cutQuoted(s, '\'')
	if err != nil {
		return "", err
	}
	if rest != "" {
		return "", fmt.Errorf("%q is too much", rest)
	}
	return text, nil
}
