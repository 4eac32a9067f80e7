package ingest

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// rowType builds a row type of "name TYPE" texts.
func rowType(t testing.TB, columns ...string) *rowdata.RowType {
	t.Helper()
	rt := &rowdata.RowType{}
	for i, c := range columns {
		name, text, _ := strings.Cut(c, " ")
		var typ *rowdata.Type
		if elem, ok := strings.CutPrefix(text, "ARRAY "); ok {
			e, err := rowdata.ParseType(elem)
			require.NoError(t, err)
			typ = &rowdata.Type{Root: rowdata.Array, Elem: e}
		} else {
			var err error
			typ, err = rowdata.ParseType(text)
			require.NoError(t, err)
		}
		rt.Fields = append(rt.Fields, rowdata.Field{ID: i, Name: name, Type: typ})
	}
	return rt
}

// decodeAll returns each change as kind and JSON.
func decodeAll(t testing.TB, d Decoder, rt *rowdata.RowType) ([]string, error) {
	t.Helper()
	var out []string
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(rt, 2)}
	for {
		c.Reset()
		m, err := d.Decode(c)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			require.Zero(t, c.N, "a bad record leaves no row")
			return out, err
		}
		if m.Commit {
			out = append(out, "commit")
		}
		for i := range c.N {
			out = append(out, c.Kind(i).String()+" "+string(rowdata.AppendJSONObject(nil, &c.Batch, i)))
		}
	}
}

var postgresColumns = []string{
	"id BIGINT NOT NULL", "customer STRING", "amount DECIMAL(12, 2)", "qty INT", "paid BOOLEAN", "note STRING", "tags ARRAY STRING",
	"extra STRING", "day DATE", "at TIMESTAMP(6)", "at_tz TIMESTAMP(6) WITH LOCAL TIME ZONE", "raw BYTES", "ratio DOUBLE",
}

func TestPostgresReplicaIdentityFull(t *testing.T) {
	ann := `{"id":1,"customer":"ann","amount":"10.50","qty":1,"paid":false,"note":"first","tags":["a","b"],"extra":"{\"x\": 1}","day":"2024-01-02","at":"2024-01-02T03:04:05.678901","at_tz":"2024-01-02T01:04:05.000000Z","raw":"AQI=","ratio":1.5}`
	ann2 := strings.Replace(strings.Replace(ann, `"10.50"`, `"11.50"`, 1), `"first"`, `"`+strings.Repeat("long ", 10)+`"`, 1)
	none := `"note":null,"tags":null,"extra":null,"day":null,"at":null,"at_tz":null,"raw":null,"ratio":null}`
	bob := `{"id":2,"customer":"bob","amount":"20.00","qty":2,"paid":true,` + none
	bob7 := strings.Replace(bob, `"qty":2`, `"qty":7`, 1)
	cid := `{"id":3,"customer":"cid","amount":"0.00","qty":null,"paid":false,` + none
	want := []string{
		"+I " + ann, "+I " + bob, "+I " + cid, "-U " + ann, "+U " + ann2, "-U " + bob, "+U " + bob7,
		"-D " + cid, "+I " + strings.Replace(cid, `"id":3`, `"id":33`, 1), "-D " + bob7,
	}
	for _, file := range []string{"replica-identity-full", "replica-identity-full-with-schemas"} {
		f, err := os.Open("testdata/" + file + ".jsonl")
		require.NoError(t, err)
		defer f.Close()
		rt := rowType(t, postgresColumns...)
		got, err := decodeAll(t, NewDebezium(f, rt, DebeziumOptions{}), rt)
		require.NoError(t, err)
		require.Equal(t, want, got, file)
	}
}

func TestPostgresReplicaIdentityDefaultNamesTheValueThatIsNotThere(t *testing.T) {
	f, err := os.Open("testdata/replica-identity-default.jsonl")
	require.NoError(t, err)
	defer f.Close()
	rt := rowType(t, postgresColumns...)
	got, err := decodeAll(t, NewDebezium(f, rt, DebeziumOptions{}), rt)
	require.Len(t, got, 6)
	require.True(t, strings.HasPrefix(got[5], "+U"), "no image before: the update comes alone")
	var bad *RecordError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, int64(7), bad.Line)
	require.Equal(t, "note", bad.Column)
	require.ErrorContains(t, err, "REPLICA IDENTITY FULL")
}

func TestMySQL(t *testing.T) {
	f, err := os.Open("testdata/mysql-orders.jsonl")
	require.NoError(t, err)
	defer f.Close()
	rt := rowType(t, "id BIGINT", "amount DECIMAL(20, 2)", "paid BOOLEAN", "state STRING", "at TIMESTAMP(6)", "ts TIMESTAMP(3) WITH LOCAL TIME ZONE", "t TIME(3)", "extra INT")
	got, err := decodeAll(t, NewDebezium(f, rt, DebeziumOptions{}), rt)
	require.NoError(t, err)
	require.Len(t, got, 8)
	require.Equal(t, `+I {"id":1,"amount":"10.50","paid":false,"state":"new","at":"2024-01-02T03:04:05.678901","ts":"2024-01-02T03:04:05.678Z","t":"23:59:59.123","extra":null}`, got[0])
	require.Equal(t, `-D {"id":2,"amount":"20.00","paid":true,"state":"done","at":null,"ts":null,"t":null,"extra":null}`, got[7])
}

func TestDebeziumRefusals(t *testing.T) {
	rt := rowType(t, "k INT NOT NULL", "d DECIMAL(4, 2)", "at TIMESTAMP(3)")
	for line, want := range map[string]string{
		`{"op":"t","before":null,"after":null}`:           "TRUNCATE",
		`{"op":"x","after":{"k":1}}`:                      "unknown operation",
		`{"after":{"k":1}}`:                               "no op",
		`{"op":"d","before":null}`:                        "without its row image",
		`{"op":"c","after":{"k":1,"d":"not base64"}}`:     "base64",
		`{"op":"c","after":{"k":1,"d":"D0JA"}}`:           "more than 4 digits",
		`{"op":"c","after":{"k":"x"}}`:                    "column k",
		`{"op":"c","after":{"k":1,"at":"yesterday"}}`:     "column at",
		`{"op":"u","before":{"k":1},"after":{"k":false}}`: "column k",
		`nonsense`:      "not JSON",
		`[1]`:           "want an object",
		`{"op":1} {}`:   "more than one",
		`{"payload":3}`: "payload",
	} {
		_, err := decodeAll(t, NewDebezium(strings.NewReader(line), rt, DebeziumOptions{}), rt)
		var bad *RecordError
		require.ErrorAs(t, err, &bad, line)
		require.ErrorContains(t, err, want)
		require.Equal(t, int64(1), bad.Line)
	}
}

func TestDebeziumNumbersAndText(t *testing.T) {
	rt := rowType(t, "d DECIMAL(30, 2)", "neg DECIMAL(5, 2)", "at TIMESTAMP(9)", "s STRING")
	in := `{"op":"c","after":{"d":"10.5","neg":"-1.25","at":-1,"s":{"a":1}}}` + "\n" + `{"op":"m"}` + "\n\n" + `null` + "\n"
	got, err := decodeAll(t, NewDebezium(strings.NewReader(in), rt, DebeziumOptions{Decimals: DecimalText}), rt)
	require.NoError(t, err)
	require.Equal(t, []string{`+I {"d":"10.50","neg":"-1.25","at":"1969-12-31T23:59:59.999999999","s":"{\"a\":1}"}`}, got)
	got, err = decodeAll(t, NewDebezium(strings.NewReader(`{"op":"c","after":{"neg":"/w=="}}`), rt, DebeziumOptions{}), rt)
	require.NoError(t, err)
	require.Equal(t, []string{`+I {"d":null,"neg":"-0.01","at":null,"s":null}`}, got)
}

func FuzzDebezium(f *testing.F) {
	for _, file := range []string{"replica-identity-full-with-schemas", "mysql-orders"} {
		data, err := os.ReadFile("testdata/" + file + ".jsonl")
		require.NoError(f, err)
		line, _, _ := strings.Cut(string(data), "\n")
		f.Add(line)
	}
	rt := rowType(f, postgresColumns...)
	f.Fuzz(func(t *testing.T, line string) {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(rt, 2)}
		d := NewDebezium(strings.NewReader(line), rt, DebeziumOptions{})
		for {
			before := c.N
			if _, err := d.Decode(c); err != nil {
				require.Equal(t, before, c.N)
				return
			}
			require.Len(t, c.Kinds, c.N)
			for _, v := range c.Cols {
				require.Equal(t, c.N, v.Len())
			}
		}
	})
}
