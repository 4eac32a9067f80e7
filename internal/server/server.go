package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/credentials"

	"sluice/feeds"
	"sluice/feeds/cursorstore"
	"sluice/feeds/grpcfeed"
	"sluice/feeds/httpapi"
	"sluice/feeds/natsfeed"
	"sluice/feeds/tablefeed"
	"sluice/feeds/wire"
	"sluice/feeds/wsfeed"
	"sluice/internal/config"
	"sluice/internal/embeddednats"
	"sluice/internal/telemetry"
	"sluice/objstore"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/snapshotreader"
)

// Server is a gateway.
type Server struct {
	cfg        *config.Config
	log        *slog.Logger
	store      objstore.Store
	cat        *paimon.Catalog
	hub        *feeds.Hub
	grpc       *grpcfeed.Server
	ws         *wsfeed.Handler
	http       *http.Server
	grpcAddr   net.Listener
	httpAddr   net.Listener
	nats       *embeddednats.Server
	nc         *nats.Conn
	publishers map[string]*natsfeed.Publisher // by feed
	healths    []*tableHealth                 // of the feeds' tables

	mu     sync.Mutex
	broken map[string]error // publishers that gave up, by feed
}

// New opens a gateway. The configuration is valid. After an error nothing is
// left open.
func New(ctx context.Context, cfg *config.Config, log *slog.Logger) (s *Server, err error) {
	s = &Server{cfg: cfg, log: log, store: local.New("/", local.Options{}), publishers: map[string]*natsfeed.Publisher{}, broken: map[string]error{}}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	abs, err := filepath.Abs(cfg.Warehouse)
	if err != nil {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	root := strings.TrimPrefix(filepath.ToSlash(abs), "/")
	s.cat = paimon.NewCatalog(s.store, root)
	if s.hub, err = feeds.NewHub(feeds.Options{WindowBytes: int(windowOf(cfg)), SubscriptionsMax: cfg.Limits.Subscriptions, ProgressInterval: progressOf(cfg)}); err != nil {
		return nil, err
	}
	if err := s.addFeeds(root); err != nil {
		return nil, err
	}
	if err := s.openNATS(ctx); err != nil {
		return nil, err
	}
	return s, s.openListeners()
}

// windowOf returns the largest window that is asked for: a hub has one size.
func windowOf(cfg *config.Config) config.Size {
	w := config.Size(64 << 20)
	for i := range cfg.Feeds {
		if i == 0 || cfg.Feeds[i].Window > w {
			w = cfg.Feeds[i].Window
		}
	}
	return w
}

func progressOf(cfg *config.Config) time.Duration {
	d := time.Duration(0)
	for i := range cfg.Feeds {
		if p := time.Duration(cfg.Feeds[i].Progress); d == 0 || p < d {
			d = p
		}
	}
	return d
}

func (s *Server) addFeeds(root string) error {
	open := map[string]func(context.Context) (*paimon.Table, error){}
	for i := range s.cfg.Feeds {
		f := s.cfg.Feeds[i]
		open[f.Name] = func(ctx context.Context) (*paimon.Table, error) {
			if f.Branch == paimon.MainBranch {
				return s.cat.OpenTable(ctx, f.Table)
			}
			return s.cat.OpenBranch(ctx, f.Table, f.Branch)
		}
	}
	cursors := cursorstore.New(s.store, root, open, time.Now)
	for i := range s.cfg.Feeds {
		f := &s.cfg.Feeds[i]
		t := tablefeed.New(s.cat, f.Table, f.Branch, snapshotreader.Options{
			StreamOverwrite: f.StreamOverwrite, PollMin: time.Duration(f.PollMin), PollMax: time.Duration(f.PollMax),
		})
		if _, err := s.hub.Add(f.Name, t, cursors); err != nil {
			return fmt.Errorf("feed %s: %w", f.Name, err)
		}
	}
	return nil
}

// openNATS starts the embedded server, connects, and prepares the publishers.
func (s *Server) openNATS(ctx context.Context) error {
	n := &s.cfg.NATS
	url := n.URL
	if n.Embedded.Enabled {
		srv, err := embeddednats.Start(ctx, embeddednats.Options{Addr: n.Embedded.Listen, StoreDir: n.Embedded.StoreDir, SyncEvery: n.Embedded.SyncEvery})
		if err != nil {
			return err
		}
		s.nats, url = srv, srv.URL()
	}
	if url == "" {
		return nil
	}
	opts := []nats.Option{
		nats.Name("sluice gateway"), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.WriteBufferSize(natsfeed.WriteBufferBytes),
	}
	if n.Credentials != "" {
		opts = append(opts, nats.UserCredentials(n.Credentials))
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return fmt.Errorf("nats %s: %w", url, err)
	}
	s.nc = nc
	for i := range s.cfg.Feeds {
		f := &s.cfg.Feeds[i]
		if f.NATS == nil {
			continue
		}
		if err := s.addPublisher(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) addPublisher(f *config.Feed) error {
	feed, err := s.hub.Feed(f.Name)
	if err != nil {
		return err
	}
	start, err := feeds.ParseStart(f.NATS.Start)
	if err != nil {
		return fmt.Errorf("feed %s: nats.start: %w", f.Name, err)
	}
	log := s.log.With(telemetry.KeyFeed, f.Name, telemetry.KeyStream, f.NATS.Stream)
	p, err := natsfeed.New(s.nc, feed, f.Table, natsfeed.Options{
		Stream: f.NATS.Stream, Subject: f.NATS.Subject, EnsureStream: f.NATS.EnsureStream, EventsPerMessage: f.NATS.EventsPerMessage, Start: start,
		Events: natsfeed.Events{
			Warning: func(_ string, w natsfeed.Finding) { log.Warn("stream: "+w.Problem, "fix", w.Fix) },
			Retry:   func(_ string, err error) { log.Warn("publishing begins again", telemetry.KeyError, err) },
			Resumed: func(_ string, at feeds.Cursor, seq uint64) {
				log.Info("publishing", telemetry.KeyCursor, at.String(), "after-message", seq)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("feed %s: %w", f.Name, err)
	}
	s.publishers[f.Name] = p
	return nil
}

// openListeners takes the addresses and builds what serves on them.
func (s *Server) openListeners() error {
	auth, err := loadTokens(s.cfg.Auth.TokensFile)
	if err != nil {
		return err
	}
	var tlsConfig *tls.Config
	if s.cfg.TLS.Cert != "" {
		cert, err := tls.LoadX509KeyPair(s.cfg.TLS.Cert, s.cfg.TLS.Key)
		if err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		tlsConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	tables := tablefeed.NewWarehouse(s.cat)
	s.healths = s.newHealths()
	if s.cfg.Listen.GRPC != config.Off {
		if s.grpcAddr, err = net.Listen("tcp", s.cfg.Listen.GRPC); err != nil {
			return fmt.Errorf("listen.grpc: %w", err)
		}
		o := grpcfeed.Options{Tables: tables, Authorize: auth.authorize}
		if tlsConfig != nil {
			o.Credentials = credentials.NewTLS(tlsConfig)
		}
		s.grpc = grpcfeed.New(s.hub, o)
	}
	if s.cfg.Listen.HTTP == config.Off {
		return nil
	}
	l, err := net.Listen("tcp", s.cfg.Listen.HTTP)
	if err != nil {
		return fmt.Errorf("listen.http: %w", err)
	}
	s.httpAddr = l
	s.ws = wsfeed.New(wsfeed.Options{Hub: s.hub, Origins: s.cfg.Listen.Origins, ConnectionsMax: s.cfg.Limits.Connections}, wire.Columns{})
	s.http = &http.Server{Handler: s.routes(tables, auth), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, TLSConfig: tlsConfig, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	return nil
}

func (s *Server) routes(tables feeds.Tables, auth tokens) http.Handler {
	api := httpapi.New(httpapi.Options{
		Hub: s.hub, Tables: tables, Reader: &rowReader{s.cat}, RowsMax: s.cfg.Limits.ResultRows, BytesMax: int(s.cfg.Limits.ResultBytes), Component: s.components,
	})
	mux := http.NewServeMux()
	mux.Handle("GET /v1/ws", auth.middleware(s.ws))
	mux.Handle("GET /metrics", auth.middleware(telemetry.Handler(s.registry())))
	mux.Handle("/v1/", auth.middleware(api))
	mux.Handle("/healthz", api) // a probe has no token
	mux.Handle("/readyz", api)
	return mux
}

func (s *Server) registry() *telemetry.Registry {
	r := telemetry.NewRegistry()
	for _, f := range s.hub.Feeds() {
		for _, m := range feeds.Metrics() {
			telemetry.Register(r, telemetry.Metric{
				Name: m.Name, Help: m.Help, Counter: m.Counter, Labels: map[string]string{"feed": f.Name()},
				Value: func() float64 { st := f.Stats(); return m.Get(&st) },
			})
		}
	}
	for _, h := range s.healths {
		h.register(r)
	}
	telemetry.Register(r, telemetry.Metric{
		Name: "gateway_wsfeed_connections", Help: "Open WebSocket connections.", Value: func() float64 { return float64(s.ws.Connections()) },
	})
	telemetry.Register(r, telemetry.Metric{
		Name: "gateway_wsfeed_messages_total", Help: "Messages sent over WebSocket.", Counter: true, Value: func() float64 { return float64(s.ws.Messages()) },
	})
	for name, p := range s.publishers {
		for _, m := range []struct {
			name, help string
			value      func(natsfeed.Stats) uint64
		}{
			{"gateway_natsfeed_messages_total", "Messages that JetStream acknowledged.", func(st natsfeed.Stats) uint64 { return st.Messages }},
			{"gateway_natsfeed_rows_total", "Changes in messages that JetStream acknowledged.", func(st natsfeed.Stats) uint64 { return st.Rows }},
			{"gateway_natsfeed_sessions_total", "Publishing sessions begun: more than one means that something failed.", func(st natsfeed.Stats) uint64 { return st.Sessions }},
		} {
			telemetry.Register(r, telemetry.Metric{
				Name: m.name, Help: m.help, Counter: true, Labels: map[string]string{"feed": name}, Value: func() float64 { return float64(m.value(p.Stats())) },
			})
		}
	}
	return r
}

// components tells which publishers do not publish, for readiness.
func (s *Server) components() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]error{}
	for name, p := range s.publishers {
		err := s.broken[name]
		if err == nil {
			err = p.Problem()
		}
		if err != nil {
			out["publisher of feed "+name] = err
		}
	}
	return out
}

// Catalog returns the catalog of the warehouse.
func (s *Server) Catalog() *paimon.Catalog { return s.cat }

// GRPCAddr returns where gRPC is served, "" if it is not.
func (s *Server) GRPCAddr() string { return addrOf(s.grpcAddr) }

// HTTPAddr returns where HTTP and WebSocket are served, "" if they are not.
func (s *Server) HTTPAddr() string { return addrOf(s.httpAddr) }

// NATSURL returns the address of the embedded NATS server, "" if there is none.
func (s *Server) NATSURL() string {
	if s.nats == nil {
		return ""
	}
	return s.nats.URL()
}

func addrOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Committed hints that a table has a new snapshot, which a writer in this process
// knows before any poll.
func (s *Server) Committed(table string) {
	for i := range s.cfg.Feeds {
		if s.cfg.Feeds[i].Table == table {
			if f, err := s.hub.Feed(s.cfg.Feeds[i].Name); err == nil {
				f.Poke()
			}
		}
	}
}

// release closes what was opened, in the reverse order.
func (s *Server) release() {
	for _, l := range []net.Listener{s.grpcAddr, s.httpAddr} {
		if l != nil {
			_ = l.Close() // it may be closed by its server already
		}
	}
	if s.hub != nil {
		if err := s.hub.Close(); err != nil && !errors.Is(err, feeds.ErrClosed) {
			s.log.Warn("feeds did not close well", telemetry.KeyError, err)
		}
	}
	if s.nc != nil {
		s.nc.Close()
	}
	if s.nats != nil {
		s.nats.Close()
	}
}
