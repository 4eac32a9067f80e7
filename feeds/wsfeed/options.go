package wsfeed

import (
	"time"

	"sluice/feeds"
)

// Options configures [New].
type Options struct {
	Hub              *feeds.Hub    // required
	Origins          []string      // browser origins beside the gateway's own host, such as https://app.example.com; "*" allows all
	ConnectionsMax   int           // at once; default 10,000
	ClientMessageMax int64         // bytes of a message of a client; default 64 KiB
	HandshakeTimeout time.Duration // default 10 s
	SubscribeTimeout time.Duration // from the connection to its subscribe message; default 10 s
	WriteTimeout     time.Duration // for one write; a client that takes nothing for so long is cut. Default 30 s
	PingInterval     time.Duration // default 25 s
	PongTimeout      time.Duration // default 10 s
	CorkMessagesMax  int           // messages written at once at most; default 32
}

func (o Options) withDefaults() Options {
	if o.ConnectionsMax == 0 {
		o.ConnectionsMax = 10_000
	}
	if o.ClientMessageMax == 0 {
		o.ClientMessageMax = 64 << 10
	}
	if o.CorkMessagesMax == 0 {
		o.CorkMessagesMax = 32
	}
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&o.HandshakeTimeout, 10 * time.Second},
		{&o.SubscribeTimeout, 10 * time.Second},
		{&o.WriteTimeout, 30 * time.Second},
		{&o.PingInterval, 25 * time.Second},
		{&o.PongTimeout, 10 * time.Second},
	} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	return o
}
