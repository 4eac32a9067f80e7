package objstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNameOfURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:/x/y":                       "x/y",
		"file:///x/y":                     "x/y",
		"FILE:/x":                         "x",
		"file://localhost/x/y":            "x/y",
		"/x/y/":                           "x/y",
		"/a:b/c":                          "a:b/c",
		"file:/a b/p=100%25/f:1":          "a b/p=100%25/f:1",
		"s3://bucket/x":                   "",
		"file://host/x":                   "",
		"relative/x":                      "",
		"":                                "",
		"file:":                           "",
		"file:/":                          "",
		"file:/a/../b":                    "",
		"file:relative":                   "",
		"/" + strings.Repeat("a/b", 2000): "",
	} {
		got, err := NameOfURI(uri)
		if want == "" {
			var bad *NameError
			require.ErrorAs(t, err, &bad, uri)
			continue
		}
		require.NoError(t, err, uri)
		require.Equal(t, want, got)
	}
}

func TestSplitAndJoin(t *testing.T) {
	for _, name := range []string{"a", "a/b", "a/b/c"} {
		require.Equal(t, name, JoinName(SplitName(name)))
	}
	dir, base := SplitName("t/snapshot/snapshot-1")
	require.Equal(t, "t/snapshot", dir)
	require.Equal(t, "snapshot-1", base)
}

func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"", "a", "a/b", "../x", "a//b", "/", "a/.", "file:/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		valid := CheckName(name) == nil
		simple := name != "" && len(name) <= NameMaxBytes && strings.ToValidUTF8(name, "") == name && !strings.Contains(name, "\x00")
		for _, s := range strings.Split(name, "/") {
			simple = simple && s != "" && s != "." && s != ".."
		}
		require.Equal(t, simple, valid)
		if got, err := NameOfURI("file:/" + name); err == nil {
			require.NoError(t, CheckName(got))
		}
	})
}
