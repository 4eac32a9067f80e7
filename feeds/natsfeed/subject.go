package natsfeed

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/paimon/rowdata"
)

// Subjects are made of a template: text with {db}, {table}, {feed}, {bucket},
// {kind}, {snapshot} and {partition}. A value becomes one token: what NATS does not
// allow in a token is written as =XX in hexadecimal. Kinds are I, UB, UA and D.
//
// NATS advises at most 16 tokens and 256 characters.
const (
	subjectTokensMax = 16
	subjectBytesMax  = 255
)

var placeholders = map[string]bool{"db": true, "table": true, "feed": true, "bucket": true, "kind": true, "snapshot": true, "partition": true}

var kindTokens = [4]string{"I", "UB", "UA", "D"}

// template is a parsed subject template.
type template struct {
	text  string
	parts []part
}

type part struct {
	text string // literal, if name is empty
	name string
}

// parseTemplate checks a template. With several events in a message a subject
// cannot name the kind of each.
func parseTemplate(text string, eventsPerMessage int) (template, error) {
	bad := func(format string, args ...any) (template, error) {
		return template{}, &TemplateError{Template: text, Why: fmt.Sprintf(format, args...)}
	}
	t := template{text: text}
	rest := text
	for rest != "" {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			open = len(rest)
		}
		if open > 0 {
			t.parts = append(t.parts, part{text: rest[:open]})
			if i := strings.IndexAny(rest[:open], " \t\r\n*>}"); i >= 0 {
				return bad("character %q is not allowed in a subject", rest[i])
			}
		}
		if rest = rest[open:]; rest == "" {
			break
		}
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return bad("{ without }")
		}
		name := rest[1:end]
		if !placeholders[name] {
			return bad("unknown placeholder {%s}: there are {db}, {table}, {feed}, {bucket}, {kind}, {snapshot} and {partition}", name)
		}
		if name == "kind" && eventsPerMessage > 1 {
			return bad("{kind} needs one event a message")
		}
		t.parts = append(t.parts, part{name: name})
		rest = rest[end+1:]
	}
	sample := t.wildcard()
	for _, token := range strings.Split(sample, ".") {
		if token == "" {
			return bad("an empty token")
		}
	}
	if n := strings.Count(sample, ".") + 1; n > subjectTokensMax {
		return bad("%d tokens: NATS allows %d", n, subjectTokensMax)
	}
	if strings.HasPrefix(text, "$") || strings.HasPrefix(text, "_") {
		return bad("subjects that begin with $ or _ are reserved")
	}
	return t, nil
}

// wildcard returns a subject filter that all subjects of the template match.
// A token with a placeholder in it becomes *.
func (t template) wildcard() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.name != "" {
			b.WriteByte('{')
		} else {
			b.WriteString(p.text)
		}
	}
	tokens := strings.Split(b.String(), ".")
	for i, token := range tokens {
		if strings.Contains(token, "{") {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

// place is where a message belongs.
type place struct {
	db, table, feed string
	bucket          int32
	kind            rowdata.RowKind
	snapshot        int64
	partition       string
}

// subject fills in the template.
func (t template) subject(p *place) (string, error) {
	b := make([]byte, 0, 64)
	for _, part := range t.parts {
		switch part.name {
		case "":
			b = append(b, part.text...)
		case "db":
			b = appendToken(b, p.db)
		case "table":
			b = appendToken(b, p.table)
		case "feed":
			b = appendToken(b, p.feed)
		case "bucket":
			b = strconv.AppendInt(b, int64(p.bucket), 10)
		case "kind":
			b = append(b, kindTokens[p.kind]...)
		case "snapshot":
			b = strconv.AppendInt(b, p.snapshot, 10)
		case "partition":
			b = appendToken(b, strings.TrimSuffix(p.partition, "/"))
		}
	}
	if len(b) > subjectBytesMax {
		return "", &TemplateError{Template: t.text, Why: fmt.Sprintf("subject %.40s… has %d bytes, NATS allows %d", b, len(b), subjectBytesMax)}
	}
	return string(b), nil
}

const hexDigits = "0123456789ABCDEF"

// appendToken appends a value as one token.
func appendToken(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "=_"...) // an empty value is a token too
	}
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}
