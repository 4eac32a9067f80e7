package rowdata

import (
	"fmt"
	"strings"
)

// typeDepthMax bounds how deep types may be nested. Everything that walks
// values recurses along their type, so this bounds the recursion on values, too.
const typeDepthMax = 64

// A TypeError tells what is wrong with the text of a type and at which byte.
type TypeError struct {
	Text   string
	Offset int
	What   string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("type %q: byte %d: %s", e.Text, e.Offset, e.What)
}

// ParseType reads the text of a type (format section 2.3): the strings of schema
// files with their aliases and, beyond them, the display forms ARRAY<T>, MAP<K,
// V>, MULTISET<T>, ROW<name T, ...> and VECTOR<T, n>, so that String reads back.
// Members of a ROW get no ids. The error is a [*TypeError].
func ParseType(s string) (*Type, error) {
	p := typeParser{text: s}
	p.next()
	t, err := p.parse(0)
	if err == nil && p.tok != "" {
		err = p.errorf("%q is too much", p.tok)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

type typeParser struct {
	text   string
	pos    int    // behind the token
	start  int    // of the token
	tok    string // upper case for words; "" at the end
	raw    string // the token as written, without quotes
	quoted bool
	bad    string // why the token is none
}

func (p *typeParser) errorf(format string, args ...any) error {
	what := p.bad
	if what == "" {
		what = fmt.Sprintf(format, args...)
	}
	return &TypeError{Text: p.text, Offset: p.start, What: what}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// next reads the next token.
func (p *typeParser) next() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	p.start, p.quoted, p.tok, p.raw = p.pos, false, "", ""
	if p.pos == len(p.text) {
		return
	}
	c := p.text[p.pos]
	switch {
	case c == '\'' || c == '`':
		p.quote(c)
		return
	case isWordByte(c):
		for p.pos < len(p.text) && isWordByte(p.text[p.pos]) {
			p.pos++
		}
	default:
		p.pos++
	}
	p.raw = p.text[p.start:p.pos]
	p.tok = strings.ToUpper(p.raw)
}

func (p *typeParser) quote(q byte) {
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		if p.text[p.pos] == q {
			if p.pos+1 == len(p.text) || p.text[p.pos+1] != q {
				p.pos++
				p.quoted, p.raw, p.tok = true, b.String(), string(q)
				return
			}
			p.pos++
		}
		b.WriteByte(p.text[p.pos])
	}
	p.bad, p.tok = "the quote is not closed", string(q)
}

// is tells whether the token is this word or sign, and if so goes on.
func (p *typeParser) is(tok string) bool {
	if p.quoted || p.tok != tok {
		return false
	}
	p.next()
	return true
}

func (p *typeParser) expect(tok string) error {
	if !p.is(tok) {
		return p.errorf("want %q", tok)
	}
	return nil
}

func (p *typeParser) number(what string, low, high int) (int, error) {
	n := 0
	for _, c := range []byte(p.tok) {
		if c < '0' || c > '9' || n > MaxLength {
			n = -1
			break
		}
		n = 10*n + int(c-'0')
	}
	if p.tok == "" || p.quoted || n < low || n > high {
		return 0, p.errorf("want a %s from %d to %d", what, low, high)
	}
	p.next()
	return n, nil
}

// parse reads a type with nullability and the suffixes ARRAY and MULTISET.
func (p *typeParser) parse(depth int) (*Type, error) {
	if depth >= typeDepthMax {
		return nil, p.errorf("nested deeper than %d", typeDepthMax)
	}
	t, err := p.bare(depth)
	if err != nil {
		return nil, err
	}
	for n := depth; ; n++ {
		if p.is("NOT") {
			if err := p.expect("NULL"); err != nil {
				return nil, err
			}
			t.NotNull = true
		} else {
			p.is("NULL")
		}
		switch {
		case p.is("ARRAY"):
			t = &Type{Root: Array, Elem: t}
		case p.is("MULTISET"):
			t = &Type{Root: Multiset, Elem: t}
		default:
			return t, nil
		}
		if n >= typeDepthMax {
			return nil, p.errorf("nested deeper than %d", typeDepthMax)
		}
	}
}

// plainRoots are the types without parameters.
var plainRoots = map[string]TypeRoot{
	"BOOLEAN": Boolean, "TINYINT": TinyInt, "SMALLINT": SmallInt, "INT": Int, "INTEGER": Int, "BIGINT": BigInt,
	"FLOAT": Float, "DATE": Date, "VARIANT": Variant, "BLOB": Blob,
}

// bare reads a type without nullability.
func (p *typeParser) bare(depth int) (*Type, error) {
	word := p.tok
	if p.quoted || word == "" || !isWordByte(word[0]) {
		return nil, p.errorf("want the name of a type")
	}
	p.next()
	if root, ok := plainRoots[word]; ok {
		return &Type{Root: root}, nil
	}
	switch word {
	case "DOUBLE":
		p.is("PRECISION")
		return &Type{Root: Double}, nil
	case "STRING":
		return &Type{Root: Varchar, Length: MaxLength}, nil
	case "BYTES":
		return &Type{Root: Varbinary, Length: MaxLength}, nil
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimal()
	case "CHAR":
		return p.sized(Char)
	case "VARCHAR":
		return p.sized(Varchar)
	case "BINARY":
		return p.sized(Binary)
	case "VARBINARY":
		return p.sized(Varbinary)
	case "TIME", "TIMESTAMP", "TIMESTAMP_LTZ":
		return p.temporal(word)
	case "ARRAY", "MULTISET", "MAP", "ROW", "VECTOR":
		return p.constructed(word, depth+1)
	}
	return nil, &TypeError{Text: p.text, Offset: max(p.start-len(word), 0), What: fmt.Sprintf("there is no type %s", word)}
}

// params reads an optional list of at most limit numbers in parentheses.
func (p *typeParser) params(limit int, what [2]string, low, high [2]int) (n [2]int, count int, err error) {
	if !p.is("(") {
		return n, 0, nil
	}
	for {
		if n[count], err = p.number(what[count], low[count], high[count]); err != nil {
			return n, 0, err
		}
		if count++; count == limit || !p.is(",") {
			return n, count, p.expect(")")
		}
	}
}

func (p *typeParser) decimal() (*Type, error) {
	n, count, err := p.params(2, [2]string{"precision", "scale"}, [2]int{1, 0}, [2]int{38, 38})
	if err != nil {
		return nil, err
	}
	if count == 0 {
		n[0] = 10
	}
	if n[1] > n[0] {
		return nil, p.errorf("scale %d is greater than precision %d", n[1], n[0])
	}
	return &Type{Root: Decimal, Precision: n[0], Scale: n[1]}, nil
}

func (p *typeParser) sized(root TypeRoot) (*Type, error) {
	n, count, err := p.params(1, [2]string{"length"}, [2]int{1}, [2]int{MaxLength})
	if err != nil {
		return nil, err
	}
	if count == 0 {
		n[0] = 1
	}
	return &Type{Root: root, Length: n[0]}, nil
}

func (p *typeParser) temporal(word string) (*Type, error) {
	n, count, err := p.params(1, [2]string{"precision"}, [2]int{0}, [2]int{9})
	if err != nil {
		return nil, err
	}
	t := &Type{Root: Time, Precision: n[0]}
	if word != "TIME" {
		t.Root = Timestamp
		if count == 0 {
			t.Precision = 6
		}
	}
	if word == "TIMESTAMP_LTZ" {
		t.Root = TimestampLTZ
		return t, nil
	}
	switch {
	case p.is("WITHOUT"):
	case word == "TIMESTAMP" && p.is("WITH"):
		t.Root = TimestampLTZ
		if err := p.expect("LOCAL"); err != nil {
			return nil, err
		}
	default:
		return t, nil
	}
	if err := p.expect("TIME"); err != nil {
		return nil, err
	}
	return t, p.expect("ZONE")
}

func (p *typeParser) constructed(word string, depth int) (*Type, error) {
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	t := &Type{Root: map[string]TypeRoot{"ARRAY": Array, "MULTISET": Multiset, "MAP": Map, "ROW": Row, "VECTOR": Vec}[word]}
	var err error
	switch t.Root {
	case Row:
		err = p.members(t, depth)
	case Map:
		if t.Key, err = p.parse(depth); err == nil {
			err = p.expect(",")
		}
		if err == nil {
			t.Elem, err = p.parse(depth)
		}
	default:
		t.Elem, err = p.parse(depth)
	}
	if err == nil && t.Root == Vec {
		if err = p.expect(","); err == nil {
			t.Length, err = p.number("length", 1, MaxLength)
		}
		if err == nil {
			err = checkVector(t)
		}
	}
	if err != nil {
		return nil, err
	}
	return t, p.expect(">")
}

func (p *typeParser) members(t *Type, depth int) error {
	if p.tok == ">" && !p.quoted {
		return nil
	}
	for {
		if p.tok == "" || p.quoted && p.tok != "`" || !p.quoted && !isWordByte(p.tok[0]) {
			return p.errorf("want the name of a member")
		}
		f := Field{Name: p.raw}
		p.next()
		var err error
		if f.Type, err = p.parse(depth); err != nil {
			return err
		}
		if p.quoted && p.tok == "'" {
			f.Description = p.raw
			p.next()
		}
		t.Fields = append(t.Fields, f)
		if !p.is(",") {
			return nil
		}
	}
}

// checkVector tells whether the elements of a VECTOR type can be packed.
func checkVector(t *Type) error {
	switch t.Elem.Root {
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double:
		return nil
	}
	return fmt.Errorf("vector of %s: want elements BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE", t.Elem)
}
