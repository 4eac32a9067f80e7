package fold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// changes reads "+I 1 a" as a change of key 1 to row a.
func changes(lines ...string) (out []Change) {
	for _, l := range lines {
		f := strings.Fields(l)
		out = append(out, Change{Kind: f[0], Key: f[1], Row: f[2]})
	}
	return out
}

func TestWhatIsWrongIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		in   []Change
		want string
	}{
		"insert of a key that is there": {changes("+I 1 a", "+I 1 b"), "the key is there"},
		"delete of an unknown key":      {changes("-D 1 a"), "the key is not there"},
		"delete of another row":         {changes("+I 1 a", "-D 1 b"), "the last image is a"},
		"update of another row":         {changes("+I 1 a", "-U 1 b", "+U 1 c"), "the last image is a"},
		"pair torn by another key":      {changes("+I 1 a", "-U 1 a", "+I 2 x", "+U 1 b"), "is followed by +I"},
		"pair torn by another update":   {changes("+I 1 a", "+I 2 a", "-U 1 a", "-U 2 a", "+U 2 b", "+U 1 b"), "is followed by -U"},
		"update without its before":     {changes("+I 1 a", "+U 1 b"), "without its -U"},
		"before without its update":     {changes("+I 1 a", "-U 1 a"), "without its +U"},
		"no kind":                       {changes("+X 1 a"), "kind"},
	} {
		t.Run(name, func(t *testing.T) {
			var f Fold
			problems := append(f.Apply(c.in), f.End()...)
			require.NotEmpty(t, problems)
			require.Contains(t, strings.Join(problems, "\n"), c.want)
		})
	}
}

func TestRightChangesFold(t *testing.T) {
	var f Fold
	require.Empty(t, f.Apply(changes("+I 1 a", "+I 2 b", "-U 1 a", "+U 1 c", "-D 2 b", "+I 2 d")))
	require.Empty(t, f.End())
	require.Empty(t, f.Equal(map[string]string{"1": "c", "2": "d"}))
	require.Len(t, f.Equal(map[string]string{"1": "x", "3": "e"}), 3)
	f.Reset(map[string]string{"1": "z"})
	require.Empty(t, f.Apply(changes("-U 1 z", "+U 1 y")))
}

func TestFirstRowKeepsKinds(t *testing.T) {
	f := Fold{KindsKept: true}
	require.Empty(t, f.Apply(changes("+U 1 a", "+I 2 b")))
	require.Empty(t, f.Equal(map[string]string{"1": "a", "2": "b"}))
	require.NotEmpty(t, f.Apply(changes("+U 1 a")), "a second row of a key")
}
