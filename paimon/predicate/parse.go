package predicate

import (
	"strings"
	"unicode/utf8"

	"sluice/paimon/rowdata"
)

// TextMaxBytes bounds the text of a predicate.
const TextMaxBytes = 256 << 10

// PatternMaxBytes bounds the pattern of a LIKE.
const PatternMaxBytes = 4 << 10

// depthMax bounds how deep a predicate may be nested.
const depthMax = 128

// Parse reads a predicate over the columns of a row type:
//
//	column = <> != < <= > >= literal, or the sides exchanged
//	column [NOT] IN (literal, ...), column [NOT] BETWEEN literal AND literal
//	column [NOT] LIKE 'pattern' [ESCAPE 'c'], column IS [NOT] NULL
//	a boolean column, TRUE, FALSE, NULL
//	NOT, AND, OR and parentheses
//
// Literals are numbers, 'texts' with quotes doubled, TRUE, FALSE, NULL, DATE
// 'text', TIME 'text', TIMESTAMP 'text' and X'hex'. A plain text will do for
// dates, times and timestamps; TIMESTAMP_LTZ is compared in UTC. Column names are
// written as they are or in backticks or double quotes. An empty text is true.
// The error is a [*SyntaxError].
func Parse(text string, row *rowdata.RowType) (*Predicate, error) {
	p := parser{scanner: scanner{text: text}, row: row}
	if len(text) > TextMaxBytes {
		return nil, p.errorf(TextMaxBytes, "the text has %d bytes, more than %d", len(text), TextMaxBytes)
	}
	if !utf8.ValidString(text) {
		return nil, p.errorf(0, "the text is no UTF-8")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokenEnd {
		return newPredicate(&node{kind: nodeConst, truth: isTrue, col: -1}), nil
	}
	n, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenEnd {
		return nil, p.errorf(p.tok.offset, "want AND, OR or the end, not %s", p.tok)
	}
	return newPredicate(n), nil
}

type parser struct {
	scanner
	row *rowdata.RowType
}

// keyword goes on behind that keyword, if it is next.
func (p *parser) keyword(word string) (bool, error) {
	if !p.tok.isKeyword(word) {
		return false, nil
	}
	return true, p.next()
}

func (p *parser) expectKeyword(word string) error {
	if ok, err := p.keyword(word); ok || err != nil {
		return err
	}
	return p.errorf(p.tok.offset, "want %s, not %s", word, p.tok)
}

func (p *parser) expectSign(sign string) error {
	if !p.tok.isSign(sign) {
		return p.errorf(p.tok.offset, "want %q, not %s", sign, p.tok)
	}
	return p.next()
}

func (p *parser) or(depth int) (*node, error) {
	return p.series(depth, "OR", nodeOr, func(d int) (*node, error) {
		return p.series(d, "AND", nodeAnd, p.not)
	})
}

// series reads operands with a keyword between them.
func (p *parser) series(depth int, word string, kind nodeKind, operand func(int) (*node, error)) (*node, error) {
	var nodes []*node
	for {
		n, err := operand(depth)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		if more, err := p.keyword(word); err != nil {
			return nil, err
		} else if !more {
			return join(kind, nodes...), nil
		}
	}
}

func (p *parser) not(depth int) (*node, error) {
	if depth > depthMax {
		return nil, p.errorf(p.tok.offset, "nested deeper than %d", depthMax)
	}
	if ok, err := p.keyword("NOT"); err != nil {
		return nil, err
	} else if ok {
		n, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return negate(n), nil
	}
	if p.tok.isSign("(") {
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		return n, p.expectSign(")")
	}
	return p.leaf()
}

var keywords = []string{"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "TRUE", "FALSE", "ESCAPE"}

func (t token) reserved() bool {
	for _, k := range keywords {
		if t.isKeyword(k) {
			return true
		}
	}
	return false
}

// leaf reads a comparison or a condition by itself.
func (p *parser) leaf() (*node, error) {
	l, ok, err := p.literal()
	if err != nil {
		return nil, err
	}
	if ok {
		return p.afterLiteral(l)
	}
	col, err := p.column()
	if err != nil {
		return nil, err
	}
	return p.afterColumn(col)
}

func (p *parser) column() (*node, error) {
	if p.tok.kind != tokenName && (p.tok.kind != tokenWord || p.tok.reserved()) {
		return nil, p.errorf(p.tok.offset, "want a column or a literal, not %s", p.tok)
	}
	i := p.row.Index(p.tok.text)
	if i < 0 {
		return nil, p.errorf(p.tok.offset, "there is no column %s", p.tok.text)
	}
	f := &p.row.Fields[i]
	return &node{col: i, typ: f.Type, name: f.Name}, p.next()
}

// afterLiteral reads what follows a literal: an operator and a column, or
// nothing behind a truth value.
func (p *parser) afterLiteral(l literal) (*node, error) {
	o, ok := parseOp(p.tok.text)
	if p.tok.kind != tokenSign || !ok {
		switch l.kind {
		case literalNull:
			return &node{kind: nodeConst, truth: isUnknown, col: -1}, nil
		case literalBool:
			return &node{kind: nodeConst, truth: truthOf(l.text == "true"), col: -1}, nil
		}
		return nil, p.errorf(p.tok.offset, "want a comparison, not %s", p.tok)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	col, err := p.column()
	if err != nil {
		return nil, err
	}
	return p.compare(col, o.flipped(), l)
}

func (p *parser) afterColumn(col *node) (*node, error) {
	if o, ok := parseOp(p.tok.text); ok && p.tok.kind == tokenSign {
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.wantLiteral()
		if err != nil {
			return nil, err
		}
		return p.compare(col, o, l)
	}
	if ok, err := p.keyword("IS"); ok || err != nil {
		return p.isNull(col, err)
	}
	not, err := p.keyword("NOT")
	if err != nil {
		return nil, err
	}
	var rest func(*node) (*node, error)
	switch {
	case p.tok.isKeyword("IN"):
		rest = p.in
	case p.tok.isKeyword("BETWEEN"):
		rest = p.between
	case p.tok.isKeyword("LIKE"):
		rest = p.likeText
	}
	if rest != nil {
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := rest(col)
		if err == nil && not {
			n = negate(n)
		}
		return n, err
	}
	if not {
		return nil, p.errorf(p.tok.offset, "want IN, BETWEEN or LIKE, not %s", p.tok)
	}
	if col.typ.Root != rowdata.Boolean {
		return nil, p.errorf(p.tok.offset, "want a comparison of column %s, not %s", col.name, p.tok)
	}
	return p.compare(col, opEqual, literal{kind: literalBool, text: "true"})
}

func (p *parser) isNull(col *node, err error) (*node, error) {
	if err != nil {
		return nil, err
	}
	if col.not, err = p.keyword("NOT"); err != nil {
		return nil, err
	}
	col.kind = nodeNull
	return col, p.expectKeyword("NULL")
}

func (p *parser) between(col *node) (*node, error) {
	low, err := p.wantLiteral()
	if err != nil {
		return nil, err
	}
	if err := p.expectKeyword("AND"); err != nil {
		return nil, err
	}
	high, err := p.wantLiteral()
	if err != nil {
		return nil, err
	}
	a, err := p.compare(col, opGreaterEqual, low)
	if err != nil {
		return nil, err
	}
	b, err := p.compare(col, opLessEqual, high)
	if err != nil {
		return nil, err
	}
	return join(nodeAnd, a, b), nil
}

func (p *parser) in(col *node) (*node, error) {
	n := *col
	n.kind, n.values = nodeIn, rowdata.NewVector(col.typ, 0)
	if err := p.expectSign("("); err != nil {
		return nil, err
	}
	for {
		l, err := p.wantLiteral()
		if err != nil {
			return nil, err
		}
		if l.kind == literalNull {
			n.unsure = true
		} else {
			b, err := p.bound(col, l)
			if err != nil {
				return nil, err
			}
			if b.side == 0 && b.exact { // else no row can be equal to it
				n.values.AppendFrom(b.value, 0)
			}
		}
		if p.tok.isSign(")") {
			break
		}
		if err := p.expectSign(","); err != nil {
			return nil, err
		}
	}
	switch {
	case n.values.Len() > 0:
		n.set = newValueSet(n.values)
		n.values = n.set.sorted
	case n.unsure:
		n = node{kind: nodeConst, truth: isUnknown, col: -1}
	default:
		n.kind, n.truth, n.values = nodeValid, isFalse, nil
	}
	return &n, p.next()
}

func (p *parser) likeText(col *node) (*node, error) {
	if !col.typ.IsString() {
		return nil, p.errorf(p.tok.offset, "column %s is %s, LIKE wants text", col.name, col.typ)
	}
	if p.tok.kind != tokenText {
		return nil, p.errorf(p.tok.offset, "want a pattern in quotes, not %s", p.tok)
	}
	text, offset := p.tok.text, p.tok.offset
	if len(text) > PatternMaxBytes {
		return nil, p.errorf(offset, "the pattern has %d bytes, more than %d", len(text), PatternMaxBytes)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	escape := rune(-1)
	if ok, err := p.keyword("ESCAPE"); err != nil {
		return nil, err
	} else if ok {
		r, size := utf8.DecodeRuneInString(p.tok.text)
		if p.tok.kind != tokenText || size == 0 || size != len(p.tok.text) {
			return nil, p.errorf(p.tok.offset, "want a single character in quotes, not %s", p.tok)
		}
		escape = r
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	n := *col
	n.kind = nodeLike
	var ok bool
	if n.like, ok = newPattern(text, escape); !ok {
		return nil, p.errorf(offset, "the escape character must stand before %%, _ or itself")
	}
	return &n, nil
}

// compare makes the leaf of a comparison.
func (p *parser) compare(col *node, o op, l literal) (*node, error) {
	n := *col
	if l.kind == literalNull {
		if col.typ.IsNested() {
			return nil, p.errorf(l.offset, "column %s is %s, which can only be compared by IS NULL", col.name, col.typ)
		}
		return &node{kind: nodeConst, truth: isUnknown, col: -1}, nil
	}
	b, err := p.bound(col, l)
	if err != nil {
		return nil, err
	}
	n.kind, n.op, n.values = nodeCompare, o, b.value
	switch {
	case b.side != 0:
		n.kind, n.truth, n.values = nodeValid, truthOf(o.holds(-b.side)), nil
	case b.exact:
	case o == opEqual || o == opNotEqual:
		n.kind, n.truth, n.values = nodeValid, truthOf(o == opNotEqual), nil
	case o == opLess:
		n.op = opLessEqual
	case o == opGreaterEqual:
		n.op = opGreater
	}
	return &n, nil
}

func (p *parser) bound(col *node, l literal) (bound, error) {
	if col.typ.IsNested() {
		return bound{}, p.errorf(l.offset, "column %s is %s, which can only be compared by IS NULL", col.name, col.typ)
	}
	b, ok := boundOf(l, col.typ)
	if !ok {
		return b, p.errorf(l.offset, "column %s is %s, which cannot be compared with %s %q", col.name, col.typ, literalNames[l.kind], l.text)
	}
	return b, nil
}

func (p *parser) wantLiteral() (literal, error) {
	l, ok, err := p.literal()
	if err == nil && !ok {
		err = p.errorf(p.tok.offset, "want a literal, not %s", p.tok)
	}
	return l, err
}

// literal reads a literal, if there is one.
func (p *parser) literal() (l literal, ok bool, err error) {
	tok := p.tok
	l = literal{text: tok.text, offset: tok.offset}
	switch {
	case tok.kind == tokenNumber:
		l.kind = literalNumber
	case tok.isSign("-"), tok.isSign("+"):
		if err := p.next(); err != nil {
			return l, false, err
		}
		if p.tok.kind != tokenNumber {
			return l, false, p.errorf(p.tok.offset, "want a number, not %s", p.tok)
		}
		l.kind, l.text = literalNumber, strings.TrimPrefix(tok.text, "+")+p.tok.text
	case tok.kind == tokenText:
		l.kind = literalText
	case tok.isKeyword("NULL"):
		l.kind = literalNull
	case tok.isKeyword("TRUE"), tok.isKeyword("FALSE"):
		l.kind, l.text = literalBool, strings.ToLower(tok.text)
	default:
		return p.typedLiteral(l)
	}
	return l, true, p.next()
}

// typedLiteral reads DATE 'text' and its like; without the text behind it the
// word is a column.
func (p *parser) typedLiteral(l literal) (literal, bool, error) {
	tok := p.tok
	switch {
	case tok.isKeyword("DATE"):
		l.kind = literalDate
	case tok.isKeyword("TIME"):
		l.kind = literalTime
	case tok.isKeyword("TIMESTAMP"):
		l.kind = literalTimestamp
	case tok.isKeyword("X"):
		l.kind = literalBytes
	default:
		return l, false, nil
	}
	ahead := p.scanner
	if err := ahead.next(); err != nil || ahead.tok.kind != tokenText {
		return l, false, nil // the error comes again
	}
	p.scanner = ahead
	l.text = p.tok.text
	if l.kind == literalBytes {
		var ok bool
		if l.text, ok = unhex(l.text); !ok {
			return l, false, p.errorf(p.tok.offset, "want hex digits, not %s", p.tok)
		}
	}
	return l, true, p.next()
}
