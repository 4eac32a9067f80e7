package grpcfeed

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"sluice/feeds"
	sluicev1 "sluice/proto/sluice/v1"
)

// Options configures a [Server]. The zero value is usable.
type Options struct {
	// Tables describes tables; nil: there is no TableService.
	Tables feeds.Tables
	// Authorize says whether the caller, whom an interceptor has put into the
	// context, may "subscribe", "ack", "describe" or "list" a feed or table. It
	// returns a [*feeds.AuthError]; nil: everybody may.
	Authorize func(ctx context.Context, verb, name string) error
	// Credentials secures connections; nil: they are not secured.
	Credentials credentials.TransportCredentials
	// NoReflection turns server reflection off.
	NoReflection bool
	// ConnectionAgeMax closes connections of that age, or up to a tenth more or
	// less, so that clients spread over new gateways; 0: never.
	ConnectionAgeMax time.Duration
	// Interceptors of unary calls and of streams, outermost first.
	Unary  []grpc.UnaryServerInterceptor
	Stream []grpc.StreamServerInterceptor
}

// Limits and times of connections. They are documented for clients.
const (
	RequestBytesMax   = 64 << 10         // largest request
	PingInterval      = 30 * time.Second // silence before the server pings
	PingTimeout       = 10 * time.Second // for the answer
	ClientPingMin     = 10 * time.Second // shortest interval at which clients may ping
	connectionGrace   = 30 * time.Second // for streams of a connection that is too old
	readBufferBytes   = 8 << 10
	writeBufferBytes  = 32 << 10
	headerListBytes   = 16 << 10
	connectionTimeout = 10 * time.Second // for the handshake
)

// Server serves the feeds of a hub over gRPC.
type Server struct {
	sluicev1.UnimplementedFeedServiceServer

	hub  *feeds.Hub
	opts Options
	grpc *grpc.Server

	stop sync.Once
	done chan struct{} // closed by Shutdown: health watches end
}

// New returns a server of the hub's feeds. Serve runs it, Shutdown ends it.
func New(hub *feeds.Hub, o Options) *Server {
	s := &Server{hub: hub, opts: o, done: make(chan struct{})}
	opts := []grpc.ServerOption{
		withCodec(),
		grpc.MaxRecvMsgSize(RequestBytesMax),
		grpc.MaxHeaderListSize(headerListBytes),
		grpc.ConnectionTimeout(connectionTimeout),
		grpc.ReadBufferSize(readBufferBytes),
		grpc.WriteBufferSize(writeBufferBytes),
		grpc.SharedWriteBuffer(true), // an idle connection keeps none
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: PingInterval, Timeout: PingTimeout, MaxConnectionAge: o.ConnectionAgeMax, MaxConnectionAgeGrace: connectionGrace,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: ClientPingMin, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(append(o.Unary, unaryErrors)...),
		grpc.ChainStreamInterceptor(append(o.Stream, streamErrors)...),
	}
	if o.Credentials != nil {
		opts = append(opts, grpc.Creds(o.Credentials))
	}
	s.grpc = grpc.NewServer(opts...)
	sluicev1.RegisterFeedServiceServer(s.grpc, s)
	if o.Tables != nil {
		sluicev1.RegisterTableServiceServer(s.grpc, &tableServer{tables: o.Tables, authorize: s.authorize})
	}
	grpc_health_v1.RegisterHealthServer(s.grpc, &healthServer{hub: hub, done: s.done})
	if !o.NoReflection {
		reflection.Register(s.grpc)
	}
	return s
}

// Serve accepts connections until Shutdown, and then returns nil. It closes the
// listener.
func (s *Server) Serve(l net.Listener) error { return s.grpc.Serve(l) }

// Shutdown drains the hub, so that subscribers connect elsewhere with their
// cursors, waits for their streams until ctx is done, and then cuts those that
// are left. It returns the error of ctx if there were any.
func (s *Server) Shutdown(ctx context.Context) error {
	s.hub.Drain()
	s.stop.Do(func() { close(s.done) })
	graceful := make(chan struct{})
	go func() { // ends when all streams have, which Stop makes sure of
		s.grpc.GracefulStop()
		close(graceful)
	}()
	select {
	case <-graceful:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-graceful
		return ctx.Err()
	}
}

func (s *Server) authorize(ctx context.Context, verb, name string) error {
	if s.opts.Authorize == nil {
		return nil
	}
	return s.opts.Authorize(ctx, verb, name)
}

// unaryErrors and streamErrors turn errors into statuses, for all services.
func unaryErrors(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	out, err := next(ctx, req)
	return out, toStatus(err)
}

func streamErrors(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return toStatus(next(srv, st))
}
