package predicate

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled LIKE pattern: parts with any text between them. A part
// is literal text in which skips counts characters that may be any before it.
type pattern struct {
	text   string // for String
	escape rune   // -1: none
	parts  [][]piece
}

// piece is some characters that may be any, then literal text.
type piece struct {
	skip int
	text []byte
}

// newPattern compiles a pattern. ok is false if the escape character stands
// before something else than %, _ or itself.
func newPattern(text string, escape rune) (p *pattern, ok bool) {
	p = &pattern{text: text, escape: escape, parts: [][]piece{{{}}}}
	escaped := false
	for _, r := range text {
		part := &p.parts[len(p.parts)-1]
		last := &(*part)[len(*part)-1]
		switch {
		case escaped && r != '%' && r != '_' && r != escape:
			return nil, false
		case !escaped && r == escape:
			escaped = true
			continue
		case !escaped && r == '%':
			p.parts = append(p.parts, []piece{{}})
		case !escaped && r == '_' && len(last.text) > 0:
			*part = append(*part, piece{skip: 1})
		case !escaped && r == '_':
			last.skip++
		default:
			last.text = utf8.AppendRune(last.text, r)
		}
		escaped = false
	}
	return p, !escaped
}

// prefix returns the text that every match begins with.
func (p *pattern) prefix() []byte {
	if first := p.parts[0][0]; first.skip == 0 {
		return first.text
	}
	return nil
}

// match tells whether the whole of s matches.
func (p *pattern) match(s []byte) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	n, ok := matchHere(first, s)
	if !ok {
		return false
	}
	if len(p.parts) == 1 {
		return n == len(s)
	}
	s = s[n:]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		if s, ok = matchAnywhere(part, s); !ok {
			return false
		}
	}
	return matchEnd(last, s)
}

// matchHere matches a part at the start of s and returns its length.
func matchHere(part []piece, s []byte) (n int, ok bool) {
	for _, p := range part {
		for range p.skip {
			if n == len(s) {
				return 0, false
			}
			_, size := utf8.DecodeRune(s[n:])
			n += size
		}
		if !bytes.HasPrefix(s[n:], p.text) {
			return 0, false
		}
		n += len(p.text)
	}
	return n, true
}

// matchAnywhere finds the first place of a part and returns what is behind it.
func matchAnywhere(part []piece, s []byte) (rest []byte, ok bool) {
	if len(part) == 1 && part[0].skip == 0 {
		i := bytes.Index(s, part[0].text)
		if i < 0 {
			return nil, false
		}
		return s[i+len(part[0].text):], true
	}
	for {
		if n, ok := matchHere(part, s); ok {
			return s[n:], true
		}
		if len(s) == 0 {
			return nil, false
		}
		_, size := utf8.DecodeRune(s)
		s = s[size:]
	}
}

// matchEnd matches a part at the end of s.
func matchEnd(part []piece, s []byte) bool {
	chars := 0
	for _, p := range part {
		chars += p.skip + utf8.RuneCount(p.text)
	}
	at := len(s)
	for range chars {
		if at == 0 {
			return false
		}
		_, size := utf8.DecodeLastRune(s[:at])
		at -= size
	}
	n, ok := matchHere(part, s[at:])
	return ok && n == len(s)-at
}

// String renders the pattern as SQL.
func (p *pattern) String() string {
	out := "LIKE " + quote(p.text)
	if p.escape >= 0 {
		out += " ESCAPE " + quote(string(p.escape))
	}
	return out
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
