package model

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
	"sluice/paimon"
)

func num(text string) any { return json.Number(text) }

// Rows that were written before a schema change are those of the new schema after
// it, also in what is taken back.
func TestAlter(t *testing.T) {
	for _, c := range []struct {
		name  string
		alter []string
		row   []any // written after it, with key 2
		want  []any // the first row, written before
	}{
		{"added in the middle", []string{"add column x INT AFTER k"}, []any{num("2"), nil, num("7"), "b"}, []any{num("1"), nil, num("5"), "a"}},
		{"dropped and there again", []string{"drop column v", "add column v INT"}, []any{num("2"), "b", num("7")}, []any{num("1"), "a", nil}},
		{"renamed", []string{"rename column v to w"}, []any{num("2"), num("7"), "b"}, []any{num("1"), num("5"), "a"}},
		{"cast", []string{"alter column v type STRING"}, []any{num("2"), "x", "b"}, []any{num("1"), "5", "a"}},
		{"comment", []string{"alter column v comment 'of some use'", "set option num-levels=3"}, []any{num("2"), nil, "b"}, []any{num("1"), num("5"), "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &casefile.Case{
				Options: map[string]string{"changelog-producer": "lookup", "sequence.field": "v"},
				Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v INT", "s STRING"}, PK: []string{"k"}},
				Commits: [][]casefile.Row{{{Kind: "+I", Row: []any{num("1"), num("5"), "a"}}}, {{Kind: "+I", Row: c.row}}},
				Steps:   []casefile.Step{{}, {Alter: c.alter, Compact: "full"}},
			}
			if c.alter[0] == "drop column v" {
				delete(h.Options, "sequence.field")
			}
			a, err := Play(h, Options{}, func(int) int { return 0 })
			require.NoError(t, err)
			require.Nil(t, a.Error)
			want, err := Rows(h, []any{c.want, c.row})
			require.NoError(t, err)
			got, err := Rows(h, a.Final)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestUnknownChanges(t *testing.T) {
	m, err := New(&casefile.Case{Schema: paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING"}, PK: []string{"k"}}}, Options{})
	require.NoError(t, err)
	for _, text := range []string{"alter column v type INT", "alter column v first", "drop primary key", "comment 'x'"} {
		var unknown *UnknownError
		require.ErrorAs(t, m.alter([]string{text}), &unknown, text)
	}
}
