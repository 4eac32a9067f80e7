package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// The test binary plays the roles too, and a limit.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("RATIOS_TEST_LIMIT") != "":
		fmt.Println(os.Getenv("RATIOS_TEST_LIMIT"))
	case len(os.Args) > 1 && (os.Args[1] == "role" || os.Args[1] == "run"):
		main()
	default:
		os.Exit(m.Run())
	}
}

// Each work runs from end to end, other processes included, and measures what it
// makes claims about.
func TestWorksRun(t *testing.T) {
	dir := t.TempDir()
	for _, p := range probes() {
		t.Run(p.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), []string{"run", "--divide", "1000", "--dir", dir, p.name}, nil, &out))
			var f figures
			require.NoError(t, json.Unmarshal(out.Bytes(), &f))
			for _, c := range p.claims {
				require.Contains(t, f, c.figure)
				if c.limit != "" {
					require.Positive(t, f[c.figure])
				}
			}
		})
	}
	scratch, err := fs.Glob(os.DirFS(dir), "ratios/scratch-*")
	require.NoError(t, err)
	require.Empty(t, scratch, "tables under test are removed")
}

// The rows are those of the limits: this is the hash that bench/limits/data.go
// gives for 1,000 rows in the order in which both take them.
func TestRowsAreThoseOfTheLimits(t *testing.T) {
	typ := &rowdata.RowType{}
	for i, f := range ordersSpec("none").Schema.Fields {
		name, text, _ := strings.Cut(f, " ")
		column, err := rowdata.ParseType(text)
		require.NoError(t, err)
		typ.Fields = append(typ.Fields, rowdata.Field{ID: i, Name: name, Type: column})
	}
	h := fnv.New64a()
	rows := 0
	for _, batches := range commitsOf(ordersRows(typ, 1000), 250) {
		for _, b := range batches {
			for i := range b.N {
				fmt.Fprintln(h, b.Cols[0].I64[i], b.Cols[1].I64[i], string(b.Cols[2].Bytes(i)), b.Cols[3].I64[i], b.Cols[4].I64[i], string(b.Cols[5].Bytes(i)), int32(b.Kinds[i]))
				rows++
			}
		}
	}
	require.Equal(t, 1000, rows)
	require.Equal(t, "b4e8095ee4753530", fmt.Sprintf("%016x", h.Sum64()))
}

// limit is a program that prints what a benchmark of the limits would.
func limit(t *testing.T, output string) string {
	path := filepath.Join(t.TempDir(), "limits.test")
	script := fmt.Sprintf("#!/bin/sh\nRATIOS_TEST_LIMIT='%s' exec '%s'\n", output, os.Args[0])
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

func TestRatioOfALimit(t *testing.T) {
	var out bytes.Buffer
	results := filepath.Join(t.TempDir(), "results.json")
	args := []string{
		"--divide", "1000", "--turns", "3", "--dir", t.TempDir(), "--json", results, "--limits",
		limit(t, "BenchmarkPipelineIngestL0 \t 1\t 0.001000 rows/cpu-s\t 2.5 rows/s"), "ingest-none",
	}
	require.NoError(t, run(t.Context(), args, nil, &out))
	require.Contains(t, out.String(), "ingest-none ratio ")
	require.Contains(t, out.String(), "this checks the works and compares nothing")
	data, err := os.ReadFile(results)
	require.NoError(t, err)
	var all []outcome
	require.NoError(t, json.Unmarshal(data, &all))
	require.Len(t, all, 1)
	require.Len(t, all[0].Ours["rows/cpu-s"], 3)
	require.Equal(t, []float64{0.001, 0.001, 0.001}, all[0].Limit["rows/cpu-s"])
	v := all[0].Results[0]
	require.True(t, v.Reached)
	require.InDelta(t, v.Ours/0.001, v.Ratio, 1e-6)
}

// A limit that fails on a busy machine costs its turn, not the run; without any
// there is no ratio, and nothing is reached.
func TestALimitThatFails(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--divide", "1000", "--turns", "1", "--dir", t.TempDir(), "--limits", limit(t, "--- FAIL"), "ingest-none"}, nil, &out))
	require.Contains(t, out.String(), "limit not measured")
	require.Contains(t, out.String(), "no")
}

func TestFigureOf(t *testing.T) {
	out := []byte(`goos: linux
BenchmarkDisk/publish/commit-7-files+fsync-each         	       1	      3051 p50-us	      5213 p99-us
BenchmarkDisk/publish/commit-7-files+fsync-each-not     	       1	      1 p50-us	      2 p99-us
PASS
`)
	v, err := figureOf(out, "Disk/publish/commit-7-files+fsync-each", "p50-us")
	require.NoError(t, err)
	require.Equal(t, 3051.0, v)
	_, err = figureOf(out, "Disk/publish/commit-7-files+fsync-each", "rows/s")
	require.ErrorContains(t, err, "no rows/s")
	require.Equal(t, `^BenchmarkDisk$/^publish$/^commit-7-files\+fsync-each$`, pattern("Disk/publish/commit-7-files+fsync-each"))
}

func TestClaims(t *testing.T) {
	least := claim{figure: "x/cpu-s", limit: "L", reach: 0.5}
	require.True(t, least.reached(0.5))
	require.False(t, least.reached(0.49))
	require.Equal(t, "x/cpu-s at least 0.5 of L", least.text())
	most := bound("p50-ms", "ms", 3)
	require.True(t, most.reached(3))
	require.False(t, most.reached(3.1))
	require.Equal(t, "p50-ms at most 3 ms", most.text())

	o := &outcome{Ours: map[string][]float64{"p50-us": {5, 9, 7}}, Limit: map[string][]float64{"p50-us": {2, 4, 100}}}
	o.judge(&probe{name: "commit", claims: []claim{{figure: "p50-us", unit: "us", limit: "L", metric: "p50-us", reach: 2, most: true}}})
	require.InDelta(t, 7.0/4, o.Results[0].Ratio, 1e-9, "medians")
	require.True(t, o.Results[0].Reached)
	require.Equal(t, "commit ratio 1.75 (ours 7 limit 4 us)", o.Results[0].line("commit"))
}

func TestBetween(t *testing.T) {
	made := []seen{{1, 1000}, {2, 2000}}
	l, err := between(made, []seen{{1, 1500}, {2, 1900}})
	require.NoError(t, err)
	require.Equal(t, 500*time.Nanosecond, l[0])
	require.Zero(t, l[1], "seen before its writer looked at the clock")
	_, err = between(made, []seen{{1, 1500}})
	require.ErrorContains(t, err, "2 commits were made and 1 arrived")
	_, err = between(made, []seen{{1, 1500}, {3, 2500}})
	require.ErrorContains(t, err, "commit 3 arrived in place of 2")
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"list"}, nil, &out))
	for _, p := range probes() {
		require.Contains(t, out.String(), p.name)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"sieve"}, {"run"}, {"run", "a", "b"}, {"--turns", "0"}, {"--nonsense"}, {"role"}, {"role", "sieve"}, {"--limits", "/no/such/program", "ingest-none"}} {
		require.ErrorIs(t, run(t.Context(), args, nil, &bytes.Buffer{}), errUsage, "%v", args)
	}
}
