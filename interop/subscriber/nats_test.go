package subscriber

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// What compares streams must not take one thing for another.
func TestMessageIsReadWholeOrRefused(t *testing.T) {
	header := func(pairs ...string) nats.Header {
		h := nats.Header{"Sluice-Cursor": {"next"}, nats.MsgIdHdr: {"at"}, "Sluice-Snapshot": {"7"}, "Sluice-Schema": {"2"}}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = []string{pairs[i+1]}
		}
		return h
	}
	one := `{"kind":"+U","row":{"a":1}}`
	for _, c := range []struct {
		subject string
		header  nats.Header
		data    string
		want    []Change
	}{
		{"chg.d.t.3.UA", header("Sluice-Kind", "+U"), one, []Change{{Snapshot: 7, SchemaID: 2, Bucket: 3, Kind: "+U", Row: `{"a":1}`, At: "at"}}},
		{
			"chg.d.t.p=3Dx=2Fq=3D=_.3.UA", header("Sluice-Kind", "+U", "Sluice-Phase", "image"), one, nil, // =_ is a token of its own
		},
		{
			"chg.d.t.p=3Dx=2Fq=3Dy.3.UA", header("Sluice-Kind", "+U", "Sluice-Phase", "image"), one,
			[]Change{{Snapshot: 7, SchemaID: 2, Image: true, Partition: "p=x/q=y/", Bucket: 3, Kind: "+U", Row: `{"a":1}`, At: "at"}},
		},
		{
			"chg.d.t.=_.0", header("Sluice-Count", "2"), "[" + one + `,{"kind":"-D","row":{"a":2}}]`,
			[]Change{{Snapshot: 7, SchemaID: 2, Kind: "+U", Row: `{"a":1}`, At: "at"}, {Snapshot: 7, SchemaID: 2, Kind: "-D", Row: `{"a":2}`, At: "at+1"}},
		},
		{"chg.d.t.3.UA", header("Sluice-Kind", "+I"), one, nil},
		{"chg.d.t.3", header("Sluice-Count", "3"), "[" + one + "]", nil},
		{"chg.d.t.x.UA", header("Sluice-Kind", "+U"), one, nil},
		{"chg.d.UA", header("Sluice-Kind", "+U"), one, nil},
		{"chg.d.t.3.UA", header("Sluice-Kind", "+U", "Sluice-Snapshot", ""), one, nil},
		{"chg.d.t.3.UA", header("Sluice-Kind", "+U"), `{"kind":`, nil},
	} {
		m := Message{Subject: c.subject, Header: c.header, Data: []byte(c.data)}
		got, next, err := m.Changes()
		if c.want == nil {
			require.Error(t, err, "%s %v %s", c.subject, c.header, c.data)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "next", next)
		require.Equal(t, c.want, got)
	}
}
