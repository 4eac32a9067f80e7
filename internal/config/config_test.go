package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const full = `
warehouse: /data/wh
listen: {grpc: "127.0.0.1:0", http: "localhost:0", origins: ["https://a.example"]}
nats: {embedded: {enabled: true, store-dir: /data/js}}
feeds:
- table: shop.orders
  window: 8mb
  poll-min: 1ms
  nats: {stream: ORDERS, ensure-stream: true}
- {name: other, table: shop.items, branch: dev, stream-overwrite: true}
`

func TestParseFillsDefaults(t *testing.T) {
	c, err := Parse([]byte(full), nil)
	require.NoError(t, err)
	require.Equal(t, "shop.orders", c.Feeds[0].Name)
	require.Equal(t, Size(8<<20), c.Feeds[0].Window)
	require.Equal(t, Duration(time.Millisecond), c.Feeds[0].PollMin)
	require.Equal(t, "chg.{db}.{table}.{bucket}.{kind}", c.Feeds[0].NATS.Subject)
	require.Equal(t, "dev", c.Feeds[1].Branch)
	require.True(t, *c.Feeds[1].StreamOverwrite)
	require.Equal(t, "127.0.0.1:4222", c.NATS.Embedded.Listen)
}

func TestUnknownKeyNamesItsPlace(t *testing.T) {
	_, err := Parse([]byte("warehouse: /w\nlisten:\n  grcp: 127.0.0.1:1\n"), nil)
	require.ErrorContains(t, err, "grcp")
	require.ErrorContains(t, err, "[3:3]")
}

func TestEnvironmentReplacesScalars(t *testing.T) {
	c, err := Parse([]byte(full), []string{"SLUICE_LISTEN_GRPC=127.0.0.1:99", "SLUICE_LIMITS_RESULT_BYTES=1mb", "SLUICE_LIMITS_CONNECTIONS=7", "PATH=/bin"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:99", c.Listen.GRPC)
	require.Equal(t, Size(1<<20), c.Limits.ResultBytes)
	require.Equal(t, 7, c.Limits.Connections)
	for name, want := range map[string]string{
		"SLUICE_LISTEN_GRCP=x":            "names no configuration key",
		"SLUICE_LIMITS_CONNECTIONS=many":  "not a whole number",
		"SLUICE_LIMITS_RESULT_BYTES=1 mu": "not a size",
	} {
		_, err := Parse([]byte(full), []string{name})
		require.ErrorContains(t, err, want)
	}
}

func TestOthersVariablesAreLeftAlone(t *testing.T) {
	_, err := Parse([]byte(full), []string{"SLUICE_TOKEN=secret", "SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT=7070", "SLUICE_PORT=tcp://10.0.0.1:7070", "SLUICE_PORT_7070_TCP=tcp://10.0.0.1:7070"})
	require.NoError(t, err)
}

func TestValidateNamesEveryKey(t *testing.T) {
	for name, c := range map[string]struct{ doc, key, reason string }{
		"no warehouse":       {"log: {level: info}", "warehouse", "missing"},
		"open gRPC":          {"warehouse: /w\nlisten: {grpc: 0.0.0.0:1}", "listen.grpc", "beyond loopback"},
		"every interface":    {"warehouse: /w\nlisten: {http: \":80\"}", "listen.http", "beyond loopback"},
		"TLS without auth":   {"warehouse: /w\ntls: {cert: a, key: b}\nlisten: {http: \"10.0.0.1:80\"}", "listen.http", "auth.tokens-file"},
		"no port":            {"warehouse: /w\nlisten: {http: localhost}", "listen.http", "HOST:PORT"},
		"half TLS":           {"warehouse: /w\ntls: {cert: a}", "tls", "go together"},
		"open NATS":          {"warehouse: /w\nnats: {embedded: {enabled: true, store-dir: /d, listen: \"0.0.0.0:4222\"}}", "nats.embedded.listen", "beyond loopback"},
		"both NATS":          {"warehouse: /w\nnats: {url: nats://h, embedded: {enabled: true, store-dir: /d}}", "nats.url", "choose one"},
		"table":              {"warehouse: /w\nfeeds: [{table: orders}]", "feeds[0].table", "DATABASE.TABLE"},
		"twice":              {"warehouse: /w\nfeeds: [{table: a.b}, {table: a.b}]", "feeds[1].name", "feeds[0]"},
		"no server":          {"warehouse: /w\nfeeds: [{table: a.b, nats: {stream: S}}]", "feeds[0].nats", "no server"},
		"two on one stream":  {"warehouse: /w\nnats: {url: nats://h}\nfeeds: [{table: a.b, nats: {stream: S}}, {table: a.c, nats: {stream: S}}]", "feeds[1].nats.stream", "one publisher"},
		"poll":               {"warehouse: /w\nfeeds: [{table: a.b, poll-min: 2s, poll-max: 1s}]", "feeds[0].poll-min", "above"},
		"log":                {"warehouse: /w\nlog: {level: loud}", "log.level", "want debug"},
		"events per message": {"warehouse: /w\nnats: {url: nats://h}\nfeeds: [{table: a.b, nats: {stream: S, events-per-message: -1}}]", "feeds[0].nats.events-per-message", "1 to 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.doc), nil)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.key, e.Key)
			require.Contains(t, e.Reason, c.reason)
		})
	}
}

func TestSecuredOrDeclaredListenersAreAccepted(t *testing.T) {
	_, err := Parse([]byte("warehouse: /w\ntls: {cert: a, key: b}\nauth: {tokens-file: t}\nlisten: {grpc: \"0.0.0.0:1\"}"), nil)
	require.NoError(t, err)
	_, err = Parse([]byte("warehouse: /w\nlisten: {grpc: \"0.0.0.0:1\", insecure-beyond-loopback: true}"), nil)
	require.NoError(t, err)
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, err := Parse([]byte("log: {level: loud, format: xml}"), nil)
	for _, key := range []string{"warehouse", "log.level", "log.format"} {
		require.ErrorContains(t, err, key)
	}
}
