package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test binary plays both sides: SIDE is the rates of the runs and the digest
// that it tells with the last one.
func TestMain(m *testing.M) {
	if side := os.Getenv("COMPARE_TEST_SIDE"); side != "" {
		os.Exit(play(side))
	}
	os.Exit(m.Run())
}

func play(side string) int {
	name, digest, _ := strings.Cut(side, " ")
	args := strings.Join(os.Args[1:], " ")
	if !strings.Contains(args, "--warmup 1 --reps 3 --divide 10") || !strings.Contains(args, "--paced") {
		fmt.Fprintln(os.Stderr, "unexpected arguments", args)
		return 2
	}
	// As ours does that reads a table of the peer's: it must be there at the start.
	if _, err := os.Stat(os.Getenv("COMPARE_TEST_LOG")); name == "a" && err != nil {
		fmt.Fprintln(os.Stderr, "started before the peer's first run")
		return 1
	}
	for run := range 4 {
		var b [1]byte
		if _, err := io.ReadFull(os.Stdin, b[:]); err != nil {
			return 0
		}
		log, err := os.OpenFile(os.Getenv("COMPARE_TEST_LOG"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return 2
		}
		fmt.Fprint(log, name)
		log.Close()
		if digest == "crash" && run == 2 {
			fmt.Fprintln(os.Stderr, "out of luck")
			return 1
		}
		r := record{Peer: name, Workload: "tail", Phase: "measure", Rows: 1000, CPUS: 1, WallS: 2, Digest: map[string]string{}, Notes: map[string]any{"commits": 25, "text": "x", name: 1}}
		switch run {
		case 0:
			r.Phase, r.CPUS = "warmup", 50
		case 1:
			r.CPUS = 2
		case 2:
			r.CPUS = 4
		case 3:
			r.CPUS = 3
			r.Digest["changelog"] = digest
		}
		if name == "b" {
			r.CPUS *= 2
		}
		line, err := json.Marshal(r)
		if err != nil {
			return 2
		}
		fmt.Println(string(line))
	}
	return 0
}

// program is a command that plays a side.
func program(t *testing.T, log, side string) string {
	path := filepath.Join(t.TempDir(), "side")
	script := fmt.Sprintf("#!/bin/sh\nCOMPARE_TEST_SIDE='%s' COMPARE_TEST_LOG='%s' exec '%s' \"$@\"\n", side, log, os.Args[0])
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

func (s *settings) with(t *testing.T, log, ours, peer string) *settings {
	s.turns, s.warmup, s.divide = 3, 1, 10
	s.ours, s.peer = program(t, log, "a "+ours), program(t, log, "b "+peer)
	return s
}

func TestTurnsAndRatio(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	c, err := new(settings).with(t, log, "1:2:3", "1:2:3").compare(t.Context(), "tail")
	require.NoError(t, err)
	order, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "babababa", string(order), "runs come by turns, the peer first")
	require.Equal(t, map[string]string{"changelog": "1:2:3"}, c.Digests)
	require.InDelta(t, 1000.0/3, c.Ours, 1e-9, "the median of the measured runs, without the warm-up")
	require.InDelta(t, 1000.0/6, c.Peer, 1e-9)
	require.InDelta(t, 2.0, c.Ratio, 1e-9)
	require.Equal(t, pair{25, 25}, c.Medians["commits"])
	require.NotContains(t, c.Medians, "a", "a note that one side has is no figure of both")
	require.Equal(t, "tail ratio 2.00 (ours 333 peer 167 rows/CPU s)", c.line())

	var out bytes.Buffer
	printTable(&out, []*comparison{c})
	require.Contains(t, out.String(), "2.5 no")
	path := filepath.Join(t.TempDir(), "out.json")
	require.NoError(t, writeJSON(path, []*comparison{c}))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var back []comparison
	require.NoError(t, json.Unmarshal(data, &back))
	require.Len(t, back[0].PeerRuns, 4)
	require.InDelta(t, 2.0, back[0].Ratio, 1e-9)
}

func TestDifferentDigestsAreNotCompared(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, err := new(settings).with(t, log, "1:2:3", "1:2:4").compare(t.Context(), "tail")
	require.ErrorContains(t, err, "digests differ")
	require.ErrorContains(t, err, "1:2:4")
}

func TestASideThatEndsIsTold(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, err := new(settings).with(t, log, "crash", "1:2:3").compare(t.Context(), "tail")
	require.ErrorContains(t, err, "ours")
	require.ErrorContains(t, err, "out of luck")
}

func TestSameDigests(t *testing.T) {
	run := func(rows float64, digests ...string) *record {
		r := &record{Rows: rows, Digest: map[string]string{}}
		for i := 0; i < len(digests); i += 2 {
			r.Digest[digests[i]] = digests[i+1]
		}
		return r
	}
	for want, sides := range map[string][2][]*record{
		"":                            {{run(1), run(1, "t", "x")}, {run(1, "t", "x"), run(1, "t", "x")}},
		"there is no digest":          {{run(1)}, {run(1)}},
		"digests differ":              {{run(1, "t", "x")}, {run(1, "t", "x", "c", "y")}},
		"runs of ours have different": {{run(1, "t", "x"), run(1, "t", "y")}, {run(1, "t", "x")}},
		"runs of the peer have":       {{run(1, "t", "x")}, {run(1, "t", "x"), run(2, "t", "x")}},
		"numbers of rows differ":      {{run(1, "t", "x")}, {run(2, "t", "x")}},
	} {
		_, err := sameDigests(sides[0], sides[1])
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{1_234_567: "1.23M", 45_678: "45.7k", 1234: "1234", 12.345: "12.3", 0: "0"} {
		require.Equal(t, want, short(v))
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{nil, {"tail"}, {"--ours", "x"}, {"--ours", "x", "--turns", "0", "tail"}, {"--nonsense"}} {
		require.ErrorIs(t, run(t.Context(), args), errUsage)
	}
}
