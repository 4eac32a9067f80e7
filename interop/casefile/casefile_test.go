package casefile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func text(t *testing.T, s string) string {
	t.Helper()
	x, err := Decode([]byte(s))
	require.NoError(t, err)
	return Canonical(x)
}

func TestCanonical(t *testing.T) {
	for _, same := range [][2]string{
		{"1", "1.0"}, {"0.0", "-0.0"}, {"1e3", "1000"}, {`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`}, {"9007199254740993", "9007199254740993.0"},
	} {
		require.Equal(t, text(t, same[0]), text(t, same[1]))
	}
	for _, other := range [][2]string{
		{"9007199254740993", "9007199254740992"}, {`"1"`, "1"}, {"[1,2]", "[2,1]"}, {"null", `"null"`}, {`{"a":1}`, `{"a":2}`}, {"0.1", "0.10000000000000001"},
	} {
		require.NotEqual(t, text(t, other[0]), text(t, other[1]))
	}
}

func TestDiffer(t *testing.T) {
	require.Empty(t, Differ("rows", []string{"a", "b"}, []string{"b", "a"}, true))
	require.Equal(t, "rows: expected a b, got b a", Differ("rows", []string{"a", "b"}, []string{"b", "a"}, false))
	require.Equal(t, "rows: expected nothing, got a", Differ("rows", nil, []string{"a"}, true))
}

// A change that names its bucket is compared with its place.
func TestPlaced(t *testing.T) {
	here := []any{map[string]any{"kind": "+I", "row": []any{1, "a"}, "bucket": 3, "partition": "p=x"}}
	require.True(t, Placed(here))
	lines, err := ChangeLines(here)
	require.NoError(t, err)
	require.Equal(t, []string{`+I[1,"a"] in p=x/bucket-3`}, lines)
	require.Equal(t, lines[0], Change{Kind: "+I", Row: []any{json.Number("1"), "a"}, Partition: "p=x", Bucket: 3}.Placed())
	anywhere := []any{map[string]any{"kind": "+I", "row": []any{1, "a"}}}
	require.False(t, Placed(anywhere))
	require.False(t, Placed("none"))
	lines, err = ChangeLines(anywhere)
	require.NoError(t, err)
	require.Equal(t, []string{`+I[1,"a"]`}, lines)
	_, err = ChangeLines([]any{map[string]any{"kind": "+I", "row": []any{1}, "bucket": "x"}})
	require.ErrorContains(t, err, "bucket")
}

// Errors of both engines that mean the same have the same meaning.
func TestMeaning(t *testing.T) {
	for meaning, texts := range map[string][]string{
		MeansFirstRowRetract: {
			"By default, First row merge engine can not accept DELETE/UPDATE_BEFORE records.", "merge of key [1]: merge engine first-row does not accept -D records: set ignore-delete=true",
		},
		MeansPartialRetract: {
			"By default, Partial update can not accept delete records, you can choose", "merge engine partial-update does not accept -U records: set ignore-delete",
		},
		MeansRetract + "max": {"Aggregate function 'max' does not support retraction, If you allow", "column x, function max: max does not support retraction"},
		MeansZero:            {"/ by zero", "column a: division by zero"},
		MeansEndless: {
			"Non-terminating decimal expansion; no exact representable decimal result.", "column v, function product: the quotient has no end as a decimal fraction",
		},
		MeansOverflow:    {"int overflow: 1 + 2", "overflow of INT"},
		MeansNull:        {"Cannot write null to non-null column(k)"},
		"something else": {"something else"},
	} {
		for _, s := range texts {
			require.Equal(t, meaning, Meaning(s), s)
		}
	}
}

const line = `{"case":{"name":"a","options":{"bucket":"1"},"schema":{"fields":["k INT NOT NULL","m MAP<STRING,INT>"],"pk":["k"]},` +
	`"commits":[[{"kind":"+I","row":[9007199254740993,null]}]],"steps":[{"compact":"full"}]},` +
	`"answer":{"name":"a","changelog":[[{"kind":"+I","row":[9007199254740993,null]}]],"final":[[9007199254740993,null]],"snapshot_kinds":[["APPEND"]]}}`

func TestHistories(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(plain, []byte(line+"\n"+line+"\n"), 0o600))
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	packed := plain + ".zst"
	require.NoError(t, os.WriteFile(packed, enc.EncodeAll([]byte(line+"\n"), nil), 0o600))
	for file, n := range map[string]int{plain: 2, packed: 1} {
		for h, err := range Histories(file) {
			require.NoError(t, err)
			n--
			require.Equal(t, "+I[9007199254740993,null]", h.Answer.Changelog[0][0].Text())
			require.Equal(t, "full", h.Case.StepOf(0).Compact)
			require.Equal(t, Step{}, h.Case.StepOf(1))
			require.Equal(t, "[9007199254740993]", h.Case.KeyText([]any(h.Case.Commits[0][0].Row)))
			again, err := h.Case.Input()
			require.NoError(t, err)
			c, err := ParseCase(again)
			require.NoError(t, err)
			require.Equal(t, h.Case, *c)
			require.Contains(t, string(again), "MAP<STRING,INT>")
		}
		require.Zero(t, n)
	}
	require.NoError(t, os.WriteFile(plain, []byte(line+"\n{\"case\": 7}\n"), 0o600))
	n := 0
	for _, err := range Histories(plain) {
		if n++; n == 2 {
			require.ErrorContains(t, err, "a.jsonl:2")
		}
	}
	require.Equal(t, 2, n)
	for _, err := range Histories(filepath.Join(t.TempDir(), "none.jsonl")) {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestLoadTellsWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cases: []\n"), 0o600))
	_, err := Load(file)
	require.ErrorContains(t, err, "no cases")
	require.NoError(t, os.WriteFile(file, []byte("cases: [{name: a, commits: [[{kind: +I, row: [1, 1.5]}]]}]\n"), 0o600))
	cases, err := Load(file)
	require.NoError(t, err)
	require.Equal(t, "[1,1.5]", Canonical([]any(cases[0].Commits[0][0].Row)))
}
