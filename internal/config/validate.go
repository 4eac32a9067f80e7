package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Off is the address that switches a listener off.
const Off = "off"

// Error is a value that cannot be used: which key, and why.
type Error struct {
	Key    string // path of the key, such as feeds[2].table
	Reason string
}

func (e *Error) Error() string { return e.Key + ": " + e.Reason }

// Validate checks the document as a whole and returns all that is wrong with
// it, each an *[Error], joined.
func (c *Config) Validate() error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, &Error{Key: key, Reason: fmt.Sprintf(format, args...)})
	}
	if c.Warehouse == "" {
		bad("warehouse", "is missing: name the folder of the tables")
	}
	secured := c.TLS.Cert != "" && c.Auth.TokensFile != ""
	for _, l := range []struct{ key, addr string }{
		{"listen.grpc", c.Listen.GRPC}, {"listen.http", c.Listen.HTTP}, {"nats.embedded.listen", c.NATS.Embedded.Listen},
	} {
		if l.addr == "" || l.addr == Off {
			continue
		}
		host, _, err := net.SplitHostPort(l.addr)
		if err != nil {
			bad(l.key, "%q is not an address: write HOST:PORT", l.addr)
			continue
		}
		if isLoopback(host) || c.Listen.InsecureBeyondLoopback {
			continue
		}
		if l.key == "nats.embedded.listen" {
			bad(l.key, "%s is beyond loopback and the embedded server has no authentication: run a NATS server of your own and set nats.url", l.addr)
		} else if !secured {
			bad(l.key, "%s is beyond loopback, which needs tls.cert, tls.key and auth.tokens-file (or listen.insecure-beyond-loopback: true, which opens every table to everybody)", l.addr)
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		bad("tls", "cert and key go together")
	}
	if c.NATS.Embedded.Enabled {
		if c.NATS.URL != "" {
			bad("nats.url", "is set beside nats.embedded: choose one")
		}
		if c.NATS.Embedded.StoreDir == "" {
			bad("nats.embedded.store-dir", "is missing: name a folder for the streams")
		}
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		bad("log.level", "%q: want debug, info, warn or error", c.Log.Level)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		bad("log.format", "%q: want text or json", c.Log.Format)
	}
	for key, n := range map[string]int{"subscriptions": c.Limits.Subscriptions, "connections": c.Limits.Connections, "result-rows": c.Limits.ResultRows} {
		if n < 0 {
			bad("limits."+key, "%d is negative", n)
		}
	}
	c.validateFeeds(bad)
	return errors.Join(errs...)
}

func (c *Config) validateFeeds(bad func(key, format string, args ...any)) {
	seen := map[string]int{}
	streams := map[string]int{}
	for i := range c.Feeds {
		f := &c.Feeds[i]
		key := fmt.Sprintf("feeds[%d]", i)
		if strings.Count(f.Table, ".") != 1 || strings.HasPrefix(f.Table, ".") || strings.HasSuffix(f.Table, ".") {
			bad(key+".table", "%q: want DATABASE.TABLE", f.Table)
		}
		if first, ok := seen[f.Name]; ok {
			bad(key+".name", "%q is the name of feeds[%d] too", f.Name, first)
		}
		seen[f.Name] = i
		if f.PollMin > f.PollMax {
			bad(key+".poll-min", "is above poll-max")
		}
		if f.Window < 1<<20 {
			bad(key+".window", "%d bytes is too little: want at least 1mb", f.Window)
		}
		if f.NATS == nil {
			continue
		}
		if c.NATS.URL == "" && !c.NATS.Embedded.Enabled {
			bad(key+".nats", "there is no server: set nats.url or nats.embedded")
		}
		if f.NATS.Stream == "" {
			bad(key+".nats.stream", "is missing")
		}
		if first, ok := streams[f.NATS.Stream]; ok && f.NATS.Stream != "" {
			bad(key+".nats.stream", "%q belongs to feeds[%d]: a stream has one publisher, since its last message is the position", f.NATS.Stream, first)
		}
		streams[f.NATS.Stream] = i
		if f.NATS.EventsPerMessage < 1 || f.NATS.EventsPerMessage > 10_000 {
			bad(key+".nats.events-per-message", "%d: want 1 to 10000", f.NATS.EventsPerMessage)
		}
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
