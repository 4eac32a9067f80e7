package snapshotreader

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStart(t *testing.T) {
	c := goldenCursors()[3]
	at := time.Date(2026, 1, 31, 15, 4, 5, 123_000_000, time.UTC)
	for _, tt := range []struct {
		text string
		want Start
		back string // text again, if it differs
	}{
		{"earliest", Start{}, ""},
		{"latest", Start{Mode: StartLatest}, ""},
		{"full", Start{Mode: StartFull}, ""},
		{"snapshot:12", Start{Mode: StartSnapshot, Snapshot: 12}, ""},
		{"snapshot-full:12", Start{Mode: StartSnapshotFull, Snapshot: 12}, ""},
		{"time:1769871845123", Start{Mode: StartTime, Time: at}, "time:2026-01-31T15:04:05.123Z"},
		{"time:2026-01-31T15:04:05.123Z", Start{Mode: StartTime, Time: at}, ""},
		{"time:2026-01-31T15:04:05.123", Start{Mode: StartTime, Time: at}, "time:2026-01-31T15:04:05.123Z"},
		{"time:2026-01-31 15:04:05.123", Start{Mode: StartTime, Time: at}, "time:2026-01-31T15:04:05.123Z"},
		{"time:2026-01-31 15:04", Start{Mode: StartTime, Time: at.Truncate(time.Minute)}, "time:2026-01-31T15:04:00Z"},
		{"time:2026-01-31", Start{Mode: StartTime, Time: at.Truncate(24 * time.Hour)}, "time:2026-01-31T00:00:00Z"},
		{"tag:a:b", Start{Mode: StartTag, Tag: "a:b"}, ""},
		{"tag-full:v1", Start{Mode: StartTagFull, Tag: "v1"}, ""},
		{"cursor:" + c.String(), Start{Mode: StartCursor, Cursor: c}, ""},
		{"consumer:me", Start{Mode: StartConsumer, Consumer: "me"}, ""},
	} {
		got, err := ParseStart(tt.text)
		require.NoError(t, err, tt.text)
		if tt.want.Mode == StartTime {
			require.True(t, tt.want.Time.Equal(got.Time), "%s: %s", tt.text, got.Time)
			got.Time = tt.want.Time
		}
		require.Equal(t, tt.want, got, tt.text)
		back := tt.back
		if back == "" {
			back = tt.text
		}
		require.Equal(t, back, got.String())
	}
	require.Equal(t, Start{Mode: StartCursor, Cursor: c}, At(c))
}

func TestParseStartErrors(t *testing.T) {
	for text, part := range map[string]string{
		"":                "want earliest",
		"begin":           "want earliest",
		"earliest:1":      "takes no argument",
		"full:":           "takes no argument",
		"snapshot":        "needs an argument",
		"snapshot:":       "needs an argument",
		"snapshot:0":      "not a snapshot id",
		"snapshot:-1":     "not a snapshot id",
		"snapshot:1x":     "not a snapshot id",
		"snapshot-full:x": "not a snapshot id",
		"time:yesterday":  "not a time",
		"time:2026":       "not a time",
		"tag:":            "needs an argument",
		"cursor:abc":      "cursor",
		"StartMode(10)":   "want earliest",
	} {
		_, err := ParseStart(text)
		require.ErrorContains(t, err, part, text)
	}
	require.Equal(t, "StartMode(77)", StartMode(77).String())
}

func TestParseUntil(t *testing.T) {
	for text, want := range map[string]Until{
		"forever":         {},
		"latest":          {Mode: UntilLatest},
		"snapshot:7":      {Mode: UntilSnapshot, Snapshot: 7},
		"time:2026-01-31": {Mode: UntilTime, Time: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)},
		"commits:3":       {Mode: UntilCommits, Commits: 3},
	} {
		got, err := ParseUntil(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "never", "latest:1", "forever:", "snapshot", "snapshot:x", "time:", "commits:0", "commits:-1", "commits:x"} {
		_, err := ParseUntil(text)
		require.Error(t, err, text)
	}
}
