package natsfeed

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func TestSubjects(t *testing.T) {
	p := place{db: "shop", table: "my orders", feed: "f", bucket: 3, kind: rowdata.UpdateAfter, snapshot: 12, partition: "day=2026-11-30/h=7/"}
	for text, want := range map[string][2]string{
		"chg.{db}.{table}.{bucket}.{kind}": {"chg.shop.my=20orders.3.UA", "chg.*.*.*.*"},
		"x-{table}.{partition}":            {"x-my=20orders.day=3D2026-11-30=2Fh=3D7", "*.*"},
		"{feed}.{snapshot}":                {"f.12", "*.*"},
		"plain.subject":                    {"plain.subject", "plain.subject"},
	} {
		tpl, err := parseTemplate(text, 1)
		require.NoError(t, err, text)
		got, err := tpl.subject(&p)
		require.NoError(t, err)
		require.Equal(t, want[0], got)
		require.Equal(t, want[1], tpl.wildcard())
	}
	tpl, err := parseTemplate("a.{partition}", 1)
	require.NoError(t, err)
	got, err := tpl.subject(&place{})
	require.NoError(t, err)
	require.Equal(t, "a.=_", got, "an empty value is a token of its own")
}

func TestTemplateRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"a.{nope}": "unknown placeholder", "a.{db": "without }", "a..b": "empty token", ".a": "empty token", "a.*": "not allowed", "a b": "not allowed",
		"a.>": "not allowed", "$JS.a": "reserved", "_a": "reserved", "": "empty token", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q": "17 tokens",
	} {
		_, err := parseTemplate(text, 1)
		var bad *TemplateError
		require.ErrorAs(t, err, &bad, text)
		require.ErrorContains(t, err, want)
	}
	_, err := parseTemplate("a.{kind}", 2)
	require.ErrorContains(t, err, "one event a message")
	long, err := parseTemplate("{table}", 1)
	require.NoError(t, err)
	_, err = long.subject(&place{table: string(make([]byte, 200))})
	require.ErrorContains(t, err, "255")
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		subject, filter string
		want            bool
	}{
		{"chg.>", "chg.*.*", true},
		{"chg.*.*", "chg.*.*", true},
		{"chg.a.*", "chg.*.*", false},
		{"chg.*", "chg.*.*", false},
		{">", "chg", true},
		{"chg.>", "chg", false},
		{"chg.a", "chg.a", true},
		{"chg.*.x", "chg.b.x", true},
		{"chg.*.*.*", "chg.*.*", false},
	} {
		require.Equal(t, c.want, covers(c.subject, c.filter), "%s over %s", c.subject, c.filter)
	}
}

func TestCheck(t *testing.T) {
	good := jetstream.StreamConfig{Subjects: []string{"chg.>"}, Storage: jetstream.FileStorage}
	require.Empty(t, Check(good, "chg.*", 1))
	for problem, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		fatal  bool
	}{
		"do not cover":      {func(c *jetstream.StreamConfig) { c.Subjects = []string{"x.>"} }, true},
		"mirror":            {func(c *jetstream.StreamConfig) { c.Mirror = &jetstream.StreamSource{Name: "M"} }, true},
		"sealed":            {func(c *jetstream.StreamConfig) { c.Sealed = true }, true},
		"not acknowledge":   {func(c *jetstream.StreamConfig) { c.NoAck = true }, true},
		"go away":           {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, true},
		"in memory":         {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, false},
		"drops its oldest":  {func(c *jetstream.StreamConfig) { c.MaxMsgs = 5 }, false},
		"drops messages":    {func(c *jetstream.StreamConfig) { c.MaxAge = 1 }, false},
		"messages a sub":    {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, false},
		"have at most 1000": {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, false},
	} {
		bad := good
		c.change(&bad)
		got := Check(bad, "chg.*", 100)
		require.Len(t, got, 1, problem)
		require.Contains(t, got[0].Problem, problem)
		require.Equal(t, c.fatal, got[0].Fatal)
		require.NotEmpty(t, got[0].Fix)
	}
}
