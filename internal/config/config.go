package config

import (
	"time"
)

// Config is the whole document. The zero value of an optional key takes the
// default named beside it.
type Config struct {
	// Warehouse is the folder of the tables: a local path. Required.
	Warehouse string `yaml:"warehouse"`
	Listen    Listen `yaml:"listen"`
	TLS       TLS    `yaml:"tls"`
	Auth      Auth   `yaml:"auth"`
	NATS      NATS   `yaml:"nats"`
	Feeds     []Feed `yaml:"feeds"`
	Limits    Limits `yaml:"limits"`
	Log       Log    `yaml:"log"`
}

// Listen names the addresses to listen on; an empty one is off.
type Listen struct {
	GRPC string `yaml:"grpc"` // default 127.0.0.1:7070; "off" for none
	HTTP string `yaml:"http"` // WebSocket, JSON and metrics; default 127.0.0.1:7071; "off" for none
	// InsecureBeyondLoopback allows addresses beyond loopback without TLS and
	// authentication. Everybody who reaches them can read every table.
	InsecureBeyondLoopback bool `yaml:"insecure-beyond-loopback"`
	// Origins lists the origins that browsers may open WebSockets from
	// (https://app.example.com). Default: the gateway's own host alone.
	Origins []string `yaml:"origins"`
}

// TLS names the certificate of all listeners.
type TLS struct {
	Cert string `yaml:"cert"` // PEM file
	Key  string `yaml:"key"`  // PEM file
}

// Auth says who may connect.
type Auth struct {
	// TokensFile holds a bearer token a line; "#" begins a comment. Clients send
	// it as "authorization: Bearer TOKEN".
	TokensFile string `yaml:"tokens-file"`
}

// NATS says where feeds with a nats section are published.
type NATS struct {
	URL         string       `yaml:"url"`         // nats://host:port; empty with embedded
	Credentials string       `yaml:"credentials"` // .creds file
	Embedded    EmbeddedNATS `yaml:"embedded"`
}

// EmbeddedNATS is a NATS server inside of the gateway's process.
type EmbeddedNATS struct {
	Enabled   bool   `yaml:"enabled"`
	Listen    string `yaml:"listen"`     // default 127.0.0.1:4222
	StoreDir  string `yaml:"store-dir"`  // required when enabled
	SyncEvery bool   `yaml:"sync-every"` // fsync each message before its acknowledgement
}

// Feed publishes the changes of one table under a name.
type Feed struct {
	Name            string    `yaml:"name"`             // default: the table's
	Table           string    `yaml:"table"`            // DB.T. Required
	Branch          string    `yaml:"branch"`           // default main
	StreamOverwrite *bool     `yaml:"stream-overwrite"` // default: the table's option streaming-read-overwrite
	Window          Size      `yaml:"window"`           // shared window of recent batches; default 64mb
	PollMin         Duration  `yaml:"poll-min"`         // default 5ms
	PollMax         Duration  `yaml:"poll-max"`         // default 250ms
	Progress        Duration  `yaml:"progress"`         // progress frames when idle; default 1s
	NATS            *FeedNATS `yaml:"nats"`
}

// FeedNATS publishes a feed to a JetStream stream.
type FeedNATS struct {
	Stream  string `yaml:"stream"`  // required
	Subject string `yaml:"subject"` // template; default chg.{db}.{table}.{bucket}.{kind}
	// EnsureStream creates the stream if there is none (file storage, subjects
	// of the template). By default a missing stream is an error.
	EnsureStream     bool   `yaml:"ensure-stream"`
	EventsPerMessage int    `yaml:"events-per-message"` // default 1
	Start            string `yaml:"start"`              // where an empty stream begins: earliest, latest, full, …; default earliest
}

// Limits bound what a gateway takes on.
type Limits struct {
	Subscriptions int  `yaml:"subscriptions"` // at once, all transports; default 10000
	Connections   int  `yaml:"connections"`   // WebSocket connections; default 10000
	ResultRows    int  `yaml:"result-rows"`   // of one HTTP rows request; default 10000
	ResultBytes   Size `yaml:"result-bytes"`  // default 16mb
}

// Log configures logging to standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error; default info
	Format string `yaml:"format"` // text or json; default text
}

// SetDefaults fills in the keys that were left out. [Parse] does it too.
func (c *Config) SetDefaults() {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	defInt := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	defDur := func(d *Duration, v time.Duration) {
		if *d == 0 {
			*d = Duration(v)
		}
	}
	defSize := func(s *Size, v int64) {
		if *s == 0 {
			*s = Size(v)
		}
	}
	def(&c.Listen.GRPC, "127.0.0.1:7070")
	def(&c.Listen.HTTP, "127.0.0.1:7071")
	def(&c.Log.Level, "info")
	def(&c.Log.Format, "text")
	if c.NATS.Embedded.Enabled {
		def(&c.NATS.Embedded.Listen, "127.0.0.1:4222")
	}
	defInt(&c.Limits.Subscriptions, 10_000)
	defInt(&c.Limits.Connections, 10_000)
	defInt(&c.Limits.ResultRows, 10_000)
	defSize(&c.Limits.ResultBytes, 16<<20)
	for i := range c.Feeds {
		f := &c.Feeds[i]
		def(&f.Name, f.Table)
		def(&f.Branch, "main")
		defSize(&f.Window, 64<<20)
		defDur(&f.PollMin, 5*time.Millisecond)
		defDur(&f.PollMax, 250*time.Millisecond)
		defDur(&f.Progress, time.Second)
		if f.NATS != nil {
			def(&f.NATS.Subject, "chg.{db}.{table}.{bucket}.{kind}")
			def(&f.NATS.Start, "earliest")
			defInt(&f.NATS.EventsPerMessage, 1)
		}
	}
}
