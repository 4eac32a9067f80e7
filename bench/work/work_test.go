package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/bench/orders"
	"sluice/bench/tables"
)

// expected are the digests that bench/peer/model prints with -divide 1000: it
// makes them of maps, from the definitions alone.
var expected = map[string]map[string]string{
	"generate":                  {"rows": "1000:a99a26720b9f0ae1:bf58fa0201605c19"},
	"ingest-none":               {"table": "5000:fcbcb7f52d8b49e9:6c4ff62fbf2c3077"},
	"ingest-input":              {"table": "5000:fcbcb7f52d8b49e9:6c4ff62fbf2c3077", "changelog": "5000:fcbcb7f52d8b49e9:6c4ff62fbf2c3077"},
	"ingest-lookup":             {"table": "1500:f81049e2ba129708:f5cc9478a5d35136", "changelog": "1488:e43d8af3c63f5396:5da44dcb4a07c4fc"},
	"ingest-lookup-zipf":        {"table": "1478:236d2c245abab848:9a7830a87db2b9d6", "changelog": "1222:578a554f4f9c3414:3d6417af3c556b76"},
	"ingest-lookup-10m":         {"table": "10500:f2d9f2b352fbc060:da23a248c685a054", "changelog": "1500:7145a4c74ed45273:45dbf1481898e3d7"},
	"ingest-lookup-10m-zipf":    {"table": "10478:634dfc8e57633bd1:2b472fce1e3d901b", "changelog": "1308:51dd7f29f398e5cf:a64041cbe99adcab"},
	"ingest-lookup-1k-commits":  {"table": "1500:f81049e2ba129708:f5cc9478a5d35136", "changelog": "1500:f3a16e5801425a90:fc88b85efe13330c"},
	"ingest-lookup-2-buckets":   {"table": "1500:f81049e2ba129708:f5cc9478a5d35136", "changelog": "1488:e43d8af3c63f5396:5da44dcb4a07c4fc"},
	"restart-1m":                {"table": "1001:d26d249ed1f88ceb:10433aa16edeb11b", "changelog": "5:bcc04b8704dc43dc:0306fb93a0142538"},
	"restart-10m":               {"table": "10001:8654d6c323a12138:4800dc1d41fe7d70", "changelog": "5:734a338b4c1457db:1f4abb537234d6b5"},
	"ingest-full-compaction-1":  {"table": "1500:f81049e2ba129708:f5cc9478a5d35136", "changelog": "1488:e43d8af3c63f5396:5da44dcb4a07c4fc"},
	"ingest-full-compaction-10": {"table": "1500:f81049e2ba129708:f5cc9478a5d35136", "changelog": "1398:655475a95be8f8b6:1660ac0c8397fe46"},
	"ingest-partial-update":     {"table": "1262:3620b27d3aabd959:e66bd41d74015fdd", "changelog": "734:966b74d1278658a7:1d5dcc29978dd397"},
	"ingest-aggregation":        {"table": "1262:68f19c09c4b7758a:3a0f553736d68f0c", "changelog": "734:4f3b9055c0ebc71d:1e07530874845567"},
	"compact":                   {"table": "2950:6f157ee8e6312910:ecf032d0171f7a94"},
	"point-hit":                 {"found": "1000:ec748379d495da85:5dbc64fbc288908d"},
	"point-miss":                {"found": "0:0000000000000000:0000000000000000"},
	"tail":                      {"changelog": "5000:fcbcb7f52d8b49e9:6c4ff62fbf2c3077"},
	"scan-runs":                 {"table": "2950:6f157ee8e6312910:ecf032d0171f7a94"},
	"scan-compacted":            {"table": "2950:6f157ee8e6312910:ecf032d0171f7a94"},
	"poll":                      {"changelog": "10:b6762b0e1fab22e2:1f378f12ae3a173a"},
	"commit-10k-write-only":     {"table": "314:7150123b25bce892:ee49df10203a4e52"},
	"commit-1m-write-only":      {"table": "1304:f6f2008cd6b1cc7d:a1dd0467d266e6b5"},
}

// peerHome makes a home like the peer's, with tables that have the same rows.
func peerHome(t *testing.T) string {
	t.Helper()
	h := &home{settings: &settings{divide: 1000, seed: orders.Seed}}
	var err error
	h.Home, err = tables.Open(t.TempDir(), "peer", false)
	require.NoError(t, err)
	peer := t.TempDir()
	put := func(name string, count, commitRows uint64, index func(uint64) uint64) {
		table, err := h.New(t.Context(), table())
		require.NoError(t, err)
		require.NoError(t, fill(t.Context(), h, table, count, commitRows, index))
		dir := filepath.Join(peer, "data-0", "fixtures", name)
		require.NoError(t, os.CopyFS(dir, os.DirFS(tables.Folder(table))))
		require.NoError(t, os.WriteFile(filepath.Join(dir, tables.Ready), nil, 0o644))
	}
	same := func(ordinal uint64) uint64 { return ordinal }
	put("keys-10-none-seed-42", 10, 200, same)
	put("keys-1000-none-seed-42", 1000, 200, same)
	put("runs-compacted-8x500-seed-42", 4000, 500, newRunKeys(500).index)
	require.NoError(t, h.Close())
	return peer
}

func TestDigestsAreThoseOfTheModel(t *testing.T) {
	require.Len(t, expected, len(works()))
	dir, peer := t.TempDir(), peerHome(t)
	args := []string{"--divide", "1000", "--warmup", "1", "--reps", "1", "--fsync=false", "--dir", dir, "--peer", peer}
	for _, name := range workNames() {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), append(args, name), nil, &out), name)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 2, name)
		for i, phase := range []string{"warmup", "measure"} {
			var r result
			require.NoError(t, json.Unmarshal([]byte(lines[i]), &r))
			require.Equal(t, "sluice", r.Peer)
			require.Equal(t, name, r.Workload)
			require.Equal(t, phase, r.Phase)
			require.Equal(t, 1, r.Rep)
			require.Positive(t, r.Rows)
			require.Positive(t, r.Bytes)
			if phase == "measure" {
				require.Equal(t, expected[name], r.Digest, name)
			}
		}
	}
	scratch, err := fs.Glob(os.DirFS(dir), "work/scratch-*")
	require.NoError(t, err)
	require.Empty(t, scratch, "tables under test are removed")
}

func TestPacedRunsWaitForTheirLine(t *testing.T) {
	args := []string{"--divide", "1000", "--warmup", "0", "--reps", "2", "--paced", "--dir", t.TempDir(), "generate"}
	var out bytes.Buffer
	err := run(t.Context(), args, strings.NewReader("\n"), &out)
	require.ErrorContains(t, err, "paced run")
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "one line, one run")
}

func TestWrongUse(t *testing.T) {
	for want, args := range map[string][]string{
		"name a work":     nil,
		`no work "sieve"`: {"--dir", "x", "generate", "sieve"},
		"--divide":        {"--divide", "0", "generate"},
		"--consumer":      {"--consumer", "eat", "generate"},
		"--warmup, --rep": {"--reps", "-1", "generate"},
		"work --help":     {"--frobnicate"},
	} {
		var wrong usageError
		require.ErrorAs(t, run(t.Context(), args, nil, &bytes.Buffer{}), &wrong, want)
		require.Contains(t, wrong.Error(), want)
	}
}

func TestMissingPeerTableSaysHowToMakeIt(t *testing.T) {
	dir := t.TempDir()
	err := run(t.Context(), []string{"--dir", dir, "--peer", dir, "--divide", "7", "scan-compacted"}, nil, &bytes.Buffer{})
	require.ErrorContains(t, err, "runs-compacted-8x71428-seed-42")
	require.ErrorContains(t, err, "bench-paimon --divide 7")
}

// A table is prepared once, and again only by another build.
func TestPreparedTablesAreKept(t *testing.T) {
	h := &home{settings: &settings{divide: 1000, seed: 7}}
	dir, err := t.TempDir(), error(nil)
	h.Home, err = tables.Open(dir, "work", false)
	require.NoError(t, err)
	stale := filepath.Join(dir, "work", "prepared-of-another-build")
	require.NoError(t, os.Mkdir(stale, 0o755))
	first, err := level0Input(t.Context(), h)
	require.NoError(t, err)
	again, err := level0Input(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, first.Path, again.Path)
	a, err := first.LatestSnapshot(t.Context())
	require.NoError(t, err)
	b, err := again.LatestSnapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.NoError(t, h.Close())

	h.Home, err = tables.Open(dir, "work", false)
	require.NoError(t, err)
	require.NoDirExists(t, stale)
	kept, err := level0Input(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, first.Path, kept.Path)
	require.NoError(t, h.Close())
}

// The seed and the divisor change the rows, so their digests differ.
func TestSeedChangesRows(t *testing.T) {
	digest := func(seed uint64) string {
		r, err := generate(context.Background(), &home{settings: &settings{divide: 1000, seed: seed}}, true)
		require.NoError(t, err)
		return r.Digest["rows"]
	}
	require.Equal(t, expected["generate"]["rows"], digest(42))
	require.NotEqual(t, digest(42), digest(43))
}
