package rowdata

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// mustType parses a type of a test.
func mustType(t testing.TB, s string) *Type {
	t.Helper()
	typ, err := ParseType(s)
	require.NoError(t, err)
	return typ
}

// decodeJSON decodes a JSON text as AppendFromJSON wants it.
func decodeJSON(t testing.TB, s string) any {
	t.Helper()
	d := newDecoder([]byte(s))
	var x any
	require.NoError(t, d.Decode(&x), s)
	return x
}

func newDecoder(text []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d
}

// column makes a vector of JSON values.
func column(t testing.TB, typ string, values ...string) *Vector {
	t.Helper()
	v := NewVector(mustType(t, typ), len(values))
	for _, s := range values {
		require.NoError(t, AppendFromJSON(v, decodeJSON(t, s)), "%s as %s", s, typ)
	}
	v.SetLen(len(values))
	return v
}

// texts renders a vector as JSON values.
func texts(v *Vector) []string {
	out := make([]string, v.Len())
	for i := range out {
		out[i] = string(AppendJSON(nil, v, i))
	}
	return out
}
