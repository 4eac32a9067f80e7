package snapshotreader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
)

func TestSourceOf(t *testing.T) {
	list := "manifest-list-x-2"
	yes, no := true, false
	for _, tt := range []struct {
		name      string
		options   paimon.Options
		append    bool // append table
		kind      paimon.CommitKind
		changelog bool
		overwrite *bool
		want      changeSource
	}{
		{name: "none append", kind: paimon.CommitAppend, want: fromDelta},
		{name: "none compact", kind: paimon.CommitCompact},
		{name: "none overwrite", kind: paimon.CommitOverwrite},
		{name: "none analyze", kind: paimon.CommitAnalyze},
		{name: "none never reads a changelog", kind: paimon.CommitCompact, changelog: true},
		{name: "none overwrite asked for", kind: paimon.CommitOverwrite, overwrite: &yes, want: fromOverwrite},
		{name: "none overwrite by option", options: paimon.Options{"streaming-read-overwrite": "true"}, kind: paimon.CommitOverwrite, want: fromOverwrite},
		{name: "none overwrite refused", options: paimon.Options{"streaming-read-overwrite": "true"}, kind: paimon.CommitOverwrite, overwrite: &no},
		{name: "none overwrite option of append tables", options: paimon.Options{"streaming-read-append-overwrite": "true"}, kind: paimon.CommitOverwrite},
		{name: "input append", options: paimon.Options{"changelog-producer": "input"}, kind: paimon.CommitAppend, changelog: true, want: fromChangelog},
		{name: "input append without changelog", options: paimon.Options{"changelog-producer": "input"}, kind: paimon.CommitAppend},
		{name: "input compact", options: paimon.Options{"changelog-producer": "input"}, kind: paimon.CommitCompact},
		{name: "input overwrite asked for", options: paimon.Options{"changelog-producer": "input"}, kind: paimon.CommitOverwrite, overwrite: &yes, want: fromOverwrite},
		{name: "input overwrite with changelog", options: paimon.Options{"changelog-producer": "input"}, kind: paimon.CommitOverwrite, changelog: true, want: fromChangelog},
		{name: "lookup append", options: paimon.Options{"changelog-producer": "lookup"}, kind: paimon.CommitAppend},
		{name: "lookup append with changelog", options: paimon.Options{"changelog-producer": "lookup"}, kind: paimon.CommitAppend, changelog: true, want: fromChangelog},
		{name: "lookup compact", options: paimon.Options{"changelog-producer": "lookup"}, kind: paimon.CommitCompact, changelog: true, want: fromChangelog},
		{name: "lookup compact without changelog", options: paimon.Options{"changelog-producer": "lookup"}, kind: paimon.CommitCompact},
		{name: "lookup overwrite is never read", options: paimon.Options{"changelog-producer": "lookup"}, kind: paimon.CommitOverwrite, overwrite: &yes},
		{name: "full-compaction compact", options: paimon.Options{"changelog-producer": "full-compaction"}, kind: paimon.CommitCompact, changelog: true, want: fromChangelog},
		{name: "full-compaction overwrite is never read", options: paimon.Options{"changelog-producer": "full-compaction"}, kind: paimon.CommitOverwrite, overwrite: &yes},
		{name: "append table", append: true, kind: paimon.CommitAppend, want: fromDelta},
		{name: "append table compact", append: true, kind: paimon.CommitCompact},
		{name: "append table overwrite", append: true, kind: paimon.CommitOverwrite},
		{name: "append table overwrite asked for", append: true, kind: paimon.CommitOverwrite, overwrite: &yes, want: fromDelta},
		{name: "append table overwrite by option", append: true, options: paimon.Options{"streaming-read-append-overwrite": "true"}, kind: paimon.CommitOverwrite, want: fromDelta},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &paimon.Schema{Options: tt.options, PrimaryKeys: []string{"k"}}
			if tt.append {
				s.PrimaryKeys = nil
			}
			snap := &paimon.Snapshot{CommitKind: tt.kind}
			if tt.changelog {
				snap.ChangelogManifestList = &list
			}
			require.Equal(t, tt.want, sourceOf(snap, s, tt.overwrite))
		})
	}
}
