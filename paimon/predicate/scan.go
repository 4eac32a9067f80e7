package predicate

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // identifier or keyword, as written
	tokenName             // quoted identifier
	tokenText             // 'text'
	tokenNumber           // without sign
	tokenSign             // operators, parentheses, commas, minus
)

type token struct {
	kind   tokenKind
	text   string // without quotes
	offset int
}

// scanner splits the text into tokens.
type scanner struct {
	text string
	pos  int
	tok  token
}

func (s *scanner) errorf(offset int, format string, args ...any) error {
	return &SyntaxError{Text: s.text, Offset: offset, What: fmt.Sprintf(format, args...)}
}

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// next reads the next token.
func (s *scanner) next() error {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
	s.tok = token{offset: s.pos}
	if s.pos == len(s.text) {
		return nil
	}
	switch c := s.text[s.pos]; {
	case isLetter(c):
		s.tok.kind = tokenWord
		s.span(func(c byte) bool { return isLetter(c) || isDigit(c) })
	case isDigit(c), c == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
		s.number()
	case c == '\'':
		s.tok.kind = tokenText
		return s.quoted(c)
	case c == '"', c == '`':
		s.tok.kind = tokenName
		return s.quoted(c)
	default:
		return s.sign()
	}
	return nil
}

// span takes bytes into the token for as long as f holds.
func (s *scanner) span(f func(byte) bool) {
	from := s.pos
	for s.pos < len(s.text) && f(s.text[s.pos]) {
		s.pos++
	}
	s.tok.text += s.text[from:s.pos]
}

func (s *scanner) number() {
	s.tok.kind = tokenNumber
	s.span(isDigit)
	if s.pos < len(s.text) && s.text[s.pos] == '.' {
		s.tok.text += "."
		s.pos++
		s.span(isDigit)
	}
	if s.pos < len(s.text) && (s.text[s.pos] == 'e' || s.text[s.pos] == 'E') {
		end := s.pos + 1
		if end < len(s.text) && (s.text[end] == '+' || s.text[end] == '-') {
			end++
		}
		if end < len(s.text) && isDigit(s.text[end]) {
			s.tok.text += s.text[s.pos:end]
			s.pos = end
			s.span(isDigit)
		}
	}
}

func (s *scanner) quoted(q byte) error {
	var b strings.Builder
	for s.pos++; s.pos < len(s.text); s.pos++ {
		if s.text[s.pos] == q {
			if s.pos+1 == len(s.text) || s.text[s.pos+1] != q {
				s.pos++
				s.tok.text = b.String()
				return nil
			}
			s.pos++
		}
		b.WriteByte(s.text[s.pos])
	}
	return s.errorf(s.tok.offset, "the quote is not closed")
}

func (s *scanner) sign() error {
	s.tok.kind = tokenSign
	rest := s.text[s.pos:]
	for _, op := range []string{"<=", ">=", "<>", "!=", "=", "<", ">", "(", ")", ",", "-", "+"} {
		if strings.HasPrefix(rest, op) {
			s.tok.text = op
			s.pos += len(op)
			return nil
		}
	}
	return s.errorf(s.pos, "unexpected %q", firstRune(rest))
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// isKeyword tells whether the token is that keyword, in any case of letters.
func (t token) isKeyword(word string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, word)
}

func (t token) isSign(sign string) bool { return t.kind == tokenSign && t.text == sign }

// String is how errors name the token.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenText:
		return "'" + t.text + "'"
	}
	return fmt.Sprintf("%q", t.text)
}
