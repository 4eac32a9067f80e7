package rowdata

import "strings"

// parseNested reads the text that AppendText makes of a constructed value.
func parseNested(v *Vector, s string) error {
	n := v.n
	err := appendParsedNested(v, strings.TrimSpace(s))
	if err != nil {
		v.Truncate(n)
	}
	return err
}

func appendParsedNested(v *Vector, s string) error {
	t := v.Type
	switch t.Root {
	case Array:
		parts, ok := splitNested(s, '[', ']')
		if !ok {
			return valueError(t, s, "want [a, b]")
		}
		for _, p := range parts {
			if err := appendPart(v.Children[0], p); err != nil {
				return err
			}
		}
		v.CloseList()
		return nil
	case Map:
		if strings.EqualFold(s, "null") {
			v.AppendNull()
			return nil
		}
		parts, ok := splitNested(s, '{', '}')
		if !ok {
			return valueError(t, s, "want {k -> v}")
		}
		for _, p := range parts {
			key, value, ok := strings.Cut(p, "->")
			if !ok {
				return valueError(t, s, "want {k -> v}")
			}
			if err := appendPart(v.Children[0], strings.TrimSpace(key)); err != nil {
				return err
			}
			if err := appendPart(v.Children[1], strings.TrimSpace(value)); err != nil {
				return err
			}
		}
		v.CloseList()
		return nil
	case Row:
		parts, ok := splitNested(s, '{', '}')
		if !ok || len(parts) != len(v.Children) {
			return valueError(t, s, "want {a, b}")
		}
		for c, p := range parts {
			if err := appendPart(v.Children[c], p); err != nil {
				return err
			}
		}
		v.CloseStruct()
		return nil
	case Variant:
		return appendVariantFromText(v, s)
	}
	return valueError(t, s, "there is no text form")
}

func appendPart(v *Vector, s string) error {
	if strings.EqualFold(s, "null") {
		v.AppendNull()
		return nil
	}
	return AppendParsed(v, s)
}

// splitNested splits what stands between the brackets at the commas that are in
// no inner brackets and in no quotes.
func splitNested(s string, open, end byte) (parts []string, ok bool) {
	if len(s) < 2 || s[0] != open || s[len(s)-1] != end {
		return nil, false
	}
	s = strings.TrimSpace(s[1 : len(s)-1])
	if s == "" {
		return nil, true
	}
	depth, from, quoted := 0, 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, unquote(s[from:i]))
			from = i + 1
		}
	}
	if depth != 0 || quoted {
		return nil, false
	}
	return append(parts, unquote(s[from:])), true
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
