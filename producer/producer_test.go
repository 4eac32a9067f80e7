package producer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
)

func TestNew(t *testing.T) {
	for _, tc := range []struct {
		name      string
		writeOnly bool
		want      Producer
		onFlush   bool
	}{
		{"", false, None{}, false},
		{"none", false, None{}, false},
		{"none", true, None{}, false},
		{"input", false, Input{}, true},
		{"input", true, Input{}, true},
		{"lookup", true, None{}, false},
		{"full-compaction", true, None{}, false},
		{"lookup", false, nil, false},
		{"full-compaction", false, nil, false},
		{"nonsense", true, nil, false},
	} {
		p, err := New(tc.name, tc.writeOnly)
		if tc.want == nil {
			var unsupported *UnsupportedError
			require.ErrorAs(t, err, &unsupported, tc.name)
			require.Equal(t, tc.name, unsupported.Producer)
			require.ErrorContains(t, err, tc.name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, p)
		require.Equal(t, tc.onFlush, p.Wants(merge.Plan{Flush: true}))
		require.False(t, p.Wants(merge.Plan{}))
	}
}
