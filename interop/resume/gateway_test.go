package resume

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/grpcfeed"
	"sluice/feeds/tablefeed"
	"sluice/feeds/wire"
	"sluice/feeds/wsfeed"
	"sluice/internal/config"
	"sluice/internal/server"
	"sluice/interop/subscriber"
	"sluice/snapshotreader"
)

// gateway is a running gateway of a warehouse on loopback.
type gateway struct {
	*server.Server
	stop func() // stops it and waits; may be called again
}

// newGateway starts the gateway of a warehouse.
func newGateway(t *testing.T, warehouse string, change func(*config.Config)) *gateway {
	t.Helper()
	c := &config.Config{
		Warehouse: warehouse,
		Listen:    config.Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0"},
		Feeds:     []config.Feed{{Table: tableName, PollMin: config.Duration(time.Millisecond), PollMax: config.Duration(20 * time.Millisecond)}},
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
func (g *gateway) transports() []subscriber.Transport { return transports(g.GRPCAddr(), g.HTTPAddr()) }

func transports(grpcAddr, httpAddr string) []subscriber.Transport {
	return []subscriber.Transport{
		subscriber.GRPC{Addr: grpcAddr},
		subscriber.GRPC{Addr: grpcAddr, JSON: true},
		subscriber.WebSocket{Addr: httpAddr},
		subscriber.WebSocket{Addr: httpAddr, Proto: true},
	}
}

// newHub returns a hub with the feed of the table.
func newHub(t *testing.T, s *shop, o feeds.Options) (*feeds.Hub, *feeds.Feed) {
	t.Helper()
	hub, err := feeds.NewHub(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, hub.Close()) })
	f, err := hub.Add(tableName, tablefeed.New(s.cat, tableName, "", snapshotreader.Options{PollMin: time.Millisecond, PollMax: 10 * time.Millisecond}), feeds.NewMemory())
	require.NoError(t, err)
	return hub, f
}

// newNarrowGateway serves a hub whose window has hardly any room and is given up
// at once, so that subscribers read from files, a few rows at a time.
func newNarrowGateway(t *testing.T, s *shop) []subscriber.Transport {
	t.Helper()
	hub, _ := newHub(t, s, feeds.Options{WindowBytes: 2000, BatchRows: 3, Linger: time.Nanosecond})
	grpcAddr, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	httpAddr, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpcfeed.New(hub, grpcfeed.Options{})
	ws := wsfeed.New(wsfeed.Options{Hub: hub}, wire.Columns{})
	mux := http.NewServeMux()
	mux.Handle("GET /v1/ws", ws)
	h := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, g.Serve(grpcAddr)) })
	serving.Go(func() { assert.ErrorIs(t, h.Serve(wsfeed.Listen(httpAddr)), http.ErrServerClosed) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, g.Shutdown(ctx))
		ws.Close()
		require.NoError(t, h.Close())
		serving.Wait()
	})
	return transports(grpcAddr.Addr().String(), httpAddr.Addr().String())
}
