// Package script runs data-driven tests: files of commands, inputs, and the output
// wanted, which -rewrite writes anew. Reviewing a change of behaviour is then reading
// a difference of text.
//
// A file is blocks with an empty line between them. A block is a line with a
// command, lines of input, a line ----, and the output. Lines that begin with # are
// comments; a block may have nothing else.
package script

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata print into them")

// Run runs the files that pattern matches, each in a subtest. start is called for
// each and returns what runs its blocks in turn.
func Run(t *testing.T, pattern string, start func(t *testing.T) func(command string, input []string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runFile(t, file, start(t)) })
	}
}

func runFile(t *testing.T, file string, run func(command string, input []string) string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		head, want, _ := strings.Cut(block+"\n", "----\n")
		out.WriteString(head)
		var input []string
		for _, line := range strings.Split(strings.TrimSuffix(head, "\n"), "\n") {
			if !strings.HasPrefix(line, "#") {
				input = append(input, line)
			}
		}
		if len(input) == 0 {
			continue
		}
		got := strings.TrimRight(run(input[0], input[1:]), "\n")
		out.WriteString("----\n")
		if got != "" {
			out.WriteString(got + "\n")
		}
		if !*rewrite {
			require.Equal(t, strings.TrimRight(want, "\n"), got, "%s: %s", file, block)
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
}
