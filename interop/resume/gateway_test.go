package resume

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/subscriber"
	"sluice/internal/config"
	"sluice/internal/server"
)

// gateway is a running gateway of a warehouse on loopback.
type gateway struct {
	*server.Server
	stop func() // stops it and waits; may be called again
}

// newGateway starts a gateway with a window of so many bytes: with 1, every
// subscriber that is behind reads from files.
func newGateway(t *testing.T, warehouse string, window config.Size, change func(*config.Config)) *gateway {
	t.Helper()
	c := &config.Config{
		Warehouse: warehouse,
		Listen:    config.Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0"},
		Feeds:     []config.Feed{{Table: tableName, Window: window, PollMin: config.Duration(time.Millisecond), PollMax: config.Duration(20 * time.Millisecond)}},
	}
	if change != nil {
		change(c)
	}
	c.SetDefaults()
	require.NoError(t, c.Validate())
	srv, err := server.New(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	var once sync.Once
	g := &gateway{Server: srv, stop: func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-ended)
		})
	}}
	t.Cleanup(g.stop)
	return g
}

// transports are the four ways to subscribe at a gateway.
func (g *gateway) transports() []subscriber.Transport {
	return []subscriber.Transport{
		subscriber.GRPC{Addr: g.GRPCAddr()},
		subscriber.GRPC{Addr: g.GRPCAddr(), JSON: true},
		subscriber.WebSocket{Addr: g.HTTPAddr()},
		subscriber.WebSocket{Addr: g.HTTPAddr(), Proto: true},
	}
}
