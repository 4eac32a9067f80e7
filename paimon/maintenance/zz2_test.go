package maintenance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
)

func TestZZExpire(t *testing.T) {
	for _, dir := range strings.Fields(os.Getenv("ZZD")) {
		table, err := paimon.Open(t.Context(), local.New("/", local.Options{}), strings.TrimPrefix(dir, "/"), "")
		require.NoError(t, err)
		x, err := ExpireSnapshots(t.Context(), table, ExpireOptions{RetainMin: 2, RetainMax: 2, TimeRetained: -1, DeletesMax: 1000})
		require.NoError(t, err)
		if d, _ := table.Options().ChangelogDecoupled(); d {
			_, err = ExpireChangelogs(t.Context(), table, ExpireOptions{RetainMin: 3, RetainMax: 3, TimeRetained: -1, DeletesMax: 1000})
			require.NoError(t, err)
		}
		fmt.Println(dir, x.First, x.End)
	}
}
