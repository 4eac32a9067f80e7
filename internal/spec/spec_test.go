package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	s, err := ParseTable([]byte("# comment\nschema: {fields: [\"k INT NOT NULL\", v STRING], pk: [k], comment: c}\noptions: {bucket: \"2\"}\nsteps:\n- write: [[1, a]]\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"k INT NOT NULL", "v STRING"}, s.Schema.Fields)
	require.Equal(t, []string{"k"}, s.Schema.PK)
	require.Equal(t, "c", *s.Schema.Comment)
	require.Equal(t, map[string]string{"bucket": "2"}, s.Options)
	text, err := Format(s)
	require.NoError(t, err)
	again, err := ParseTable(text)
	require.NoError(t, err, string(text))
	require.Equal(t, s, again)
}

func TestUnknownKeysNameTheirPlace(t *testing.T) {
	_, err := ParseTable([]byte("schema:\n  fields: [k INT]\n  keys: [k]\n"))
	require.ErrorContains(t, err, "[3:3]")
	_, err = ParseTable([]byte("options: {}"))
	require.ErrorContains(t, err, "schema.fields is missing")
}
