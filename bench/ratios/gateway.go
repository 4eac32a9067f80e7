package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"sluice/bench/tables"
	"sluice/feeds"
	"sluice/feeds/grpcfeed"
	"sluice/feeds/tablefeed"
	"sluice/feeds/wire"
	"sluice/feeds/wsfeed"
	"sluice/paimon"
	"sluice/snapshotreader"
)

// feedName is the name of the one feed.
const feedName = "orders"

// gateway serves the feed of a table over gRPC and WebSocket on loopback.
type gateway struct {
	hub      *feeds.Hub
	feed     *feeds.Feed
	grpc     *grpcfeed.Server
	grpcAddr string
	ws       *wsfeed.Handler
	http     *http.Server
	httpAddr string
	served   chan error // of both servers
}

func (e *env) serve(t *paimon.Table) (*gateway, error) {
	hub, err := feeds.NewHub(feeds.Options{})
	if err != nil {
		return nil, err
	}
	g := &gateway{hub: hub, served: make(chan error, 2)}
	if g.feed, err = hub.Add(feedName, tablefeed.New(e.Catalog(t), tables.Name, "", snapshotreader.Options{}), nil); err != nil {
		return nil, err
	}
	g.grpc = grpcfeed.New(hub, grpcfeed.Options{})
	g.ws = wsfeed.New(wsfeed.Options{Hub: hub}, wire.Columns{})
	g.http = &http.Server{Handler: g.ws}
	gl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	hl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, gl.Close())
	}
	g.grpcAddr, g.httpAddr = gl.Addr().String(), hl.Addr().String()
	go func() { g.served <- g.grpc.Serve(gl) }()
	go func() { g.served <- g.http.Serve(wsfeed.Listen(hl)) }()
	return g, nil
}

// close ends the gateway and waits for its servers.
func (g *gateway) close(ctx context.Context) error {
	g.ws.Close()
	err := errors.Join(g.grpc.Shutdown(ctx), g.http.Shutdown(ctx), g.hub.Close())
	for range 2 {
		if e := <-g.served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}
