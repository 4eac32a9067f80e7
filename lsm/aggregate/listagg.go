package aggregate

import (
	"bytes"

	"sluice/paimon/rowdata"
)

// listAgg joins texts.
type listAgg struct {
	delimiter []byte
	distinct  bool
	older     older
}

func newListAgg(s Spec) (*listAgg, error) {
	if s.Type.Root != rowdata.Varchar || s.Type.Length != rowdata.MaxLength {
		return nil, wrongType(s, "STRING")
	}
	return &listAgg{delimiter: []byte(s.Delimiter), distinct: s.Distinct, older: older{scratch: rowdata.NewVector(s.Type, 1)}}, nil
}

func (*listAgg) Reset() {}

// Add appends the text. NULL on one side leaves the other, be it empty; then
// empty texts are passed over.
func (l *listAgg) Add(acc, in *rowdata.Vector, i int) error {
	switch {
	case acc.IsNull(0):
		Set(acc, in, i)
		return nil
	case in.IsNull(i) || len(in.Bytes(i)) == 0:
		return nil
	case len(acc.Bytes(0)) == 0:
		Set(acc, in, i)
		return nil
	case l.distinct:
		l.addTokens(acc, in.Bytes(i))
		return nil
	}
	l.push(acc, in.Bytes(i))
	return nil
}

// push appends a text to the end of acc.
func (l *listAgg) push(acc *rowdata.Vector, text []byte) {
	acc.Data = append(append(acc.Data, l.delimiter...), text...)
	acc.Offs[1] = uint32(len(acc.Data))
}

// addTokens appends the tokens of a text that acc does not have yet.
func (l *listAgg) addTokens(acc *rowdata.Vector, text []byte) {
	for len(text) > 0 {
		token := text
		if at := l.cut(text); at >= 0 {
			token, text = text[:at], text[at+len(l.delimiter):]
		} else {
			text = nil
		}
		if len(token) > 0 && !l.has(acc.Bytes(0), token) {
			l.push(acc, token)
		}
	}
}

// cut returns where the first delimiter is, or -1.
func (l *listAgg) cut(text []byte) int {
	if len(l.delimiter) == 0 {
		return -1
	}
	return bytes.Index(text, l.delimiter)
}

func (l *listAgg) has(text, token []byte) bool {
	for {
		at := l.cut(text)
		if at < 0 {
			return bytes.Equal(text, token)
		}
		if bytes.Equal(text[:at], token) {
			return true
		}
		text = text[at+len(l.delimiter):]
	}
}

func (l *listAgg) AddOlder(acc, in *rowdata.Vector, i int) error {
	return l.older.addOlder(l, acc, in, i)
}

func (l *listAgg) Retract(_, _ *rowdata.Vector, _ int) error {
	return &RetractError{Function: "listagg"}
}
