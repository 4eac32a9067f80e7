package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNested(t *testing.T) {
	row := func(vals ...any) any { return vals }
	rows := func(all ...any) []any { return all }
	one, two, three := int64(1), int64(2), int64(3)
	plain := nested{limit: -1}
	require.Equal(t, rows(row(one, "a"), row(one, "a")), plain.add(rows(row(one, "a")), rows(nil, row(one, "a")), false))
	require.Equal(t, rows(row(two, "b")), plain.retract(rows(row(one, "a"), row(two, "b"), row(one, "a")), rows(row(one, "a"))))
	few := nested{limit: 2}
	require.Equal(t, rows(row(one, "a"), row(two, "b")), few.add(rows(row(one, "a")), rows(row(two, "b"), row(three, "c")), false))
	keyed := nested{limit: -1, key: []int{0}, sequence: []int{1}}
	require.Equal(t, rows(row(one, two), row(two, one)), keyed.add(rows(row(one, two)), rows(row(one, one), row(two, one)), false), "older")
	require.Equal(t, rows(row(one, three)), keyed.add(rows(row(one, two)), rows(row(one, three)), false))
	require.Equal(t, rows(row(two, one)), keyed.retract(rows(row(one, two), row(two, one)), rows(row(one, nil))))
	require.Equal(t, rows(row(one, "a", three)), (&nested{limit: -1, key: []int{0}}).add(rows(row(one, "a", two)), rows(row(one, nil, three)), true))
}
