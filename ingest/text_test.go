package ingest

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func TestJSONLines(t *testing.T) {
	rt := rowType(t, "k INT NOT NULL", "v STRING", "n BIGINT")
	in := `{"kind":"+U","row":{"k":1,"v":"a","n":9007199254740993}}
{"k":2}
[3,"c",null]

{"commit":true}
{"kind":"-D","row":[1,null,null]}`
	got, err := decodeAll(t, NewJSONL(strings.NewReader(in), rt), rt)
	require.NoError(t, err)
	require.Equal(t, []string{
		`+U {"k":1,"v":"a","n":9007199254740993}`, `+I {"k":2,"v":null,"n":null}`, `+I {"k":3,"v":"c","n":null}`, "commit",
		`-D {"k":1,"v":null,"n":null}`,
	}, got)
}

func TestJSONLinesRefusals(t *testing.T) {
	rt := rowType(t, "k INT NOT NULL", "v STRING")
	for line, want := range map[string]string{
		`{"kind":"+X","row":{"k":1}}`:        "want +I",
		`{"kind":3,"row":{"k":1}}`:           "want +I",
		`{"kind":"+I","row":{"k":1},"x":1}`:  `unknown member "x"`,
		`{"commit":false}`:                   "commit must be true",
		`{"k":1,"w":2}`:                      "w",
		`{"k":"one"}`:                        "k",
		`{"k":1`:                             "not JSON",
		`[1]`:                                "",
		`7`:                                  "",
		`{"k":99999999999}`:                  "k",
		`{"kind":"+I","row":{"k":1,"v":{}}}`: "v",
	} {
		_, err := decodeAll(t, NewJSONL(strings.NewReader("\n"+line), rt), rt)
		var bad *RecordError
		require.ErrorAs(t, err, &bad, line)
		require.Equal(t, int64(2), bad.Line)
		require.ErrorContains(t, err, want)
	}
}

func TestARowColumnNamedLikeAMemberIsAColumn(t *testing.T) {
	rt := rowType(t, "row INT", "commit BOOLEAN")
	got, err := decodeAll(t, NewJSONL(strings.NewReader(`{"row":1,"commit":true}`+"\n"+`{"commit":true}`), rt), rt)
	require.NoError(t, err)
	require.Equal(t, []string{`+I {"row":1,"commit":true}`, `+I {"row":null,"commit":true}`}, got)
}

func TestLongLinesAreBounded(t *testing.T) {
	rt := rowType(t, "v STRING")
	endless := io.LimitReader(repeat('x'), MaxLineBytes+2)
	_, err := NewJSONL(endless, rt).Decode(&rowdata.Changes{Batch: *rowdata.NewBatch(rt, 1)})
	require.ErrorIs(t, err, ErrLineTooLong)
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestCSV(t *testing.T) {
	rt := rowType(t, "k INT NOT NULL", "v STRING", "d DECIMAL(5, 2)", "at TIMESTAMP(3)")
	in := "v,_kind,k,d\n\"a,\"\"b\"\"\",+U,1,1.5\n,-D,2,\n"
	got, err := decodeAll(t, NewCSV(strings.NewReader(in), rt), rt)
	require.NoError(t, err)
	require.Equal(t, []string{
		`+U {"k":1,"v":"a,\"b\"","d":"1.50","at":null}`, `-D {"k":2,"v":null,"d":null,"at":null}`,
	}, got)
}

func TestCSVRefusals(t *testing.T) {
	rt := rowType(t, "k INT NOT NULL", "v STRING", "l ARRAY INT")
	for in, want := range map[string]string{
		"k,w\n1,2\n":      "line 1, column w",
		"k,k\n1,2\n":      "named twice",
		"k,l\n1,2\n":      "JSON lines",
		"k,v\n1\n":        "line 2",
		"k,v\nx,y\n":      "line 2, column k",
		"_kind,k\n!,1\n":  "column _kind",
		"k,v\n1,\"open\n": "line",
	} {
		_, err := decodeAll(t, NewCSV(strings.NewReader(in), rt), rt)
		var bad *RecordError
		require.ErrorAs(t, err, &bad, in)
		require.ErrorContains(t, err, want)
	}
}
