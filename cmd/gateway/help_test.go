package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func commands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		all = append(all, commands(c)...)
	}
	return all
}

// Every command has a help text that says what it does, how it is called and what
// each flag means.
func TestHelpOfEveryCommand(t *testing.T) {
	all := commands(newRoot())
	require.Greater(t, len(all), 35)
	for _, c := range all {
		path := strings.Fields(c.CommandPath())[1:]
		text := ok(t, "", append(path, "--help")...)
		require.Contains(t, text, "Usage:\n  "+c.CommandPath(), c.CommandPath())
		first, _, _ := strings.Cut(text, "\n")
		require.NotEmpty(t, first, c.CommandPath())
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.False(t, strings.HasSuffix(c.Short, "."), "%s: a heading has no full stop", c.CommandPath())
		c.Flags().VisitAll(func(f *pflag.Flag) {
			require.NotEmpty(t, f.Usage, "%s --%s", c.CommandPath(), f.Name)
			require.Contains(t, text, "--"+f.Name, c.CommandPath())
		})
		if c.HasSubCommands() && c.HasParent() {
			require.Equal(t, exitUsage, gw(t, "", path...).code, "%s alone is wrong use", c.CommandPath())
		}
	}
	require.Equal(t, ok(t, "", "--help"), ok(t, ""), "without a command, the help text")
	require.Equal(t, ok(t, "", "help", "tail"), ok(t, "", "tail", "--help"))
}

// Every command of the list is there.
func TestCommandsAreThere(t *testing.T) {
	have := map[string]bool{}
	for _, c := range commands(newRoot()) {
		have[strings.TrimPrefix(c.CommandPath(), "gateway ")] = true
	}
	for _, name := range []string{
		"demo", "serve", "table create", "table list", "table show", "table alter", "table truncate", "table drop", "write", "compact", "read", "changes", "tail",
		"snapshot list", "snapshot show", "snapshot expire", "snapshot rollback", "tag list", "tag create", "tag delete",
		"branch list", "branch create", "branch delete", "branch fast-forward", "consumer list", "consumer reset", "consumer delete", "orphan clean",
		"inspect snapshot", "inspect manifest-list", "inspect manifest", "inspect datafile", "inspect schema", "inspect cursor", "version",
	} {
		require.True(t, have[name], name)
	}
}

// A token from the environment is used, and never shown.
func TestHelpDoesNotShowTheToken(t *testing.T) {
	t.Setenv("SLUICE_TOKEN", "secret-of-mine")
	require.NotContains(t, ok(t, "", "tail", "--help"), "secret-of-mine")
}

func TestVersion(t *testing.T) {
	require.Equal(t, "gateway "+version+"\n", ok(t, "", "version"))
	require.Equal(t, `{"version":"`+version+`"}`+"\n", ok(t, "", "version", "--json"))
}
