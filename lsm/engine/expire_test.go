package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

func TestExpiry(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	for _, tc := range []struct{ typ, old, kept string }{
		{"INT", "1999996399", "1999996400"},
		{"BIGINT", "1999996399", "1999996400"},
		{"BIGINT", "1999996399999", "1999996400000"},
		{"TIMESTAMP(3)", "2033-05-18T02:33:19.999", "2033-05-18T02:33:20"},
		{"TIMESTAMP_LTZ(9)", "2033-05-18T02:33:19.999999999Z", "2033-05-18T02:33:20Z"},
	} {
		t.Run(tc.typ, func(t *testing.T) {
			typ, err := rowdata.ParseType(tc.typ)
			require.NoError(t, err)
			s := &paimon.Schema{
				Fields:  []rowdata.Field{{Name: "k", Type: typ}, {ID: 1, Name: "at", Type: typ}},
				Options: paimon.Options{"record-level.expire-time": "1 h", "record-level.time-field": "at"},
			}
			e, err := ExpiryOf(s)
			require.NoError(t, err)
			require.Equal(t, 1, e.Column())
			kv := rowdata.NewKeyValues(s.RowType(), 0)
			for _, text := range []string{tc.old, tc.kept, ""} {
				kv.Cols[0].AppendNull()
				if text == "" {
					kv.Cols[1].AppendNull()
				} else {
					require.NoError(t, rowdata.AppendParsed(kv.Cols[1], text))
				}
			}
			expired := e.Before(now)
			for i, want := range []bool{true, false, false} {
				require.Equal(t, want, expired(kv, i), "row %d", i)
				require.Equal(t, want, e.HasBefore(now, kv.Cols[1], i))
			}
		})
	}
	none, err := ExpiryOf(&paimon.Schema{})
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = ExpiryOf(&paimon.Schema{Options: paimon.Options{"record-level.expire-time": "1 h", "record-level.time-field": "at"}})
	var refused *paimon.ValidationError
	require.ErrorAs(t, err, &refused)
}
