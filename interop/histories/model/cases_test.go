package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
)

// The expected values of the case file, which were found by reading and by runs of
// another engine, are possible too.
func TestCases(t *testing.T) {
	cases, err := casefile.Load("../../../testdata/cases/changelog-cases.yaml")
	require.NoError(t, err)
	followed := 0
	for i := range cases {
		c := &cases[i]
		if c.Order == "any" || c.Filler > 0 || c.Error != nil && refusal(c.Error) {
			continue
		}
		a, err := expected(c)
		require.NoError(t, err, c.Name)
		v, err := Judge(c, a, Options{})
		var unknown *UnknownError
		if errors.As(err, &unknown) {
			t.Log(c.Name, err)
			continue
		}
		require.NoError(t, err, c.Name)
		followed++
		if v.Fault != "" {
			t.Error(c.Name, v.Fault)
		}
	}
	t.Logf("%d of %d cases followed", followed, len(cases))
	require.Greater(t, followed, 100)
}

// refusal tells whether a table cannot be made, or not be written: the model
// knows no such rules.
func refusal(e *casefile.Failure) bool {
	return fmt.Sprint(e.At) == "create" || strings.Contains(e.Contains, "conflicting behavior")
}

// expected is the answer that a case wants.
func expected(c *casefile.Case) (*casefile.Answer, error) {
	a := &casefile.Answer{Name: c.Name, Final: []any{}}
	for i := range c.Commits {
		changes := []casefile.Change{}
		if i < len(c.Changelog) && c.Changelog[i] != "none" {
			text, err := json.Marshal(c.Changelog[i])
			if err != nil {
				return nil, err
			}
			x, err := casefile.Decode(text)
			if err != nil {
				return nil, err
			}
			list, _ := x.([]any)
			for _, r := range list {
				o := r.(map[string]any)
				changes = append(changes, casefile.Change{Kind: o["kind"].(string), Row: o["row"]})
			}
		}
		a.Changelog = append(a.Changelog, changes)
	}
	for _, row := range c.Final {
		text, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		x, err := casefile.Decode(text)
		if err != nil {
			return nil, err
		}
		a.Final = append(a.Final, x)
	}
	if c.Error != nil {
		a.Error = &casefile.Error{At: fmt.Sprint(c.Error.At), Message: c.Error.Contains + c.Error.Text}
	}
	return a, nil
}
