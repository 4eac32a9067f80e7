//go:build interop

package picks

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/oracle"
)

var (
	record = flag.Bool("record", false, "write the first shapes with Java's answers to testdata")
	seed   = flag.Uint64("seed", 1, "of the shapes")
)

// TestJava asks Paimon Java about random shapes.
func TestJava(t *testing.T) {
	const shapes, sample = 10_000, 4000
	o, err := oracle.Start(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Close()) }()

	r := rand.New(rand.NewPCG(*seed, 0))
	list := make([]*Shape, shapes)
	var input bytes.Buffer
	for i := range list {
		list[i] = Random(r)
		line, err := json.Marshal(list[i])
		require.NoError(t, err)
		input.Write(append(line, '\n'))
	}
	file := filepath.Join(t.TempDir(), "shapes.jsonl")
	require.NoError(t, os.WriteFile(file, input.Bytes(), 0o600))
	answers, err := o.Run("picks", file)
	require.NoError(t, err)
	require.Len(t, answers, shapes)

	var output bytes.Buffer
	z := gzip.NewWriter(&output)
	for i, s := range list {
		var java struct{ Picks []*[2]int }
		require.NoError(t, json.Unmarshal([]byte(answers[i]), &java))
		if i < sample {
			s.Answers = java.Picks
			line, err := json.Marshal(s)
			require.NoError(t, err)
			_, err = z.Write(append(line, '\n'))
			require.NoError(t, err)
		}
		if !*record {
			require.Equal(t, java.Picks, s.Ours(), "shape %d: %+v", i, s)
		}
	}
	require.NoError(t, z.Close())
	if *record {
		require.NoError(t, os.WriteFile(recorded, output.Bytes(), 0o644))
	}
}
