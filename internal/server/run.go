package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/feeds/wsfeed"
	"sluice/internal/telemetry"
)

// drainTimeout bounds how long subscribers may take to go elsewhere.
const drainTimeout = 1500 * time.Millisecond

// Run serves until ctx ends, which is no error, or a listener fails. It returns
// when everything is closed.
func (s *Server) Run(ctx context.Context) error {
	defer s.release()
	serving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var tasks sync.WaitGroup
	// task runs until serving ends; its error ends all.
	task := func(name string, run func(context.Context) error) {
		tasks.Go(func() {
			if err := run(serving); err != nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	if s.grpc != nil {
		task("gRPC", func(context.Context) error { return s.grpc.Serve(s.grpcAddr) })
	}
	if s.http != nil {
		task("HTTP", func(context.Context) error { return s.serveHTTP() })
	}
	if s.http != nil {
		task("health of tables", s.watchHealth) // for /metrics
	}
	for name, p := range s.publishers {
		task("publisher of feed "+name, func(ctx context.Context) error {
			// One publisher that cannot go on stops neither the others nor the
			// subscribers: readiness says so.
			if err := p.Run(ctx); err != nil {
				s.log.Error("publishing has ended", telemetry.KeyFeed, name, telemetry.KeyError, err)
				s.mu.Lock()
				s.broken[name] = err
				s.mu.Unlock()
			}
			return nil
		})
	}
	s.log.Info("gateway serves", "grpc", s.GRPCAddr(), "http", s.HTTPAddr(), "feeds", len(s.cfg.Feeds))
	<-serving.Done()
	s.stop(ctx)
	tasks.Wait()
	if err := context.Cause(serving); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *Server) serveHTTP() error {
	l := wsfeed.Listen(s.httpAddr)
	var err error
	if s.http.TLSConfig != nil {
		err = s.http.ServeTLS(l, "", "")
	} else {
		err = s.http.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stop tells all subscribers to come back elsewhere with their cursors, gives
// them a moment, and hangs up.
func (s *Server) stop(ctx context.Context) {
	s.log.Info("gateway stops")
	s.hub.Drain()
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	var parts sync.WaitGroup
	if s.grpc != nil {
		parts.Go(func() { _ = s.grpc.Shutdown(draining) })
	}
	if s.http != nil {
		parts.Go(func() {
			s.ws.Close()
			if err := s.http.Shutdown(draining); err != nil {
				_ = s.http.Close() // requests that take longer are cut
			}
		})
	}
	parts.Wait()
}
