// Package embeddednats runs a NATS server with JetStream inside of the process,
// so that the demo and a small installation need no server of their own.
//
// The server listens on loopback, keeps its streams in a folder and shares
// nothing with other servers of the process. It is the one owner of the
// nats-server module.
package embeddednats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// Options configures [Start].
type Options struct {
	Addr      string // HOST:PORT to listen on; port 0 takes a free one
	StoreDir  string // folder of the streams
	SyncEvery bool   // fsync each message before it is acknowledged. Default: the server syncs every two minutes, so an acknowledged message survives a crash of the process but not of the machine
}

// Server is a running server.
type Server struct {
	s *natsserver.Server
}

// ErrNotReady is returned when the server does not accept connections in time.
var ErrNotReady = errors.New("NATS server is not ready")

// readyTimeout bounds the recovery of the streams at start.
const readyTimeout = 30 * time.Second

// Start starts a server and waits until it accepts connections.
func Start(ctx context.Context, o Options) (*Server, error) {
	host, portText, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("NATS address %q: %w", o.Addr, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("NATS address %q: %w", o.Addr, err)
	}
	if port == 0 {
		port = natsserver.RANDOM_PORT
	} else {
		// The server itself only fails to get ready, and after a long while.
		l, err := net.Listen("tcp", o.Addr)
		if err != nil {
			return nil, fmt.Errorf("NATS server: %w", err)
		}
		_ = l.Close()
	}
	s, err := natsserver.NewServer(&natsserver.Options{
		Host: host, Port: port, JetStream: true, StoreDir: o.StoreDir, SyncAlways: o.SyncEvery,
		NoLog: true, NoSigs: true, DontListen: false,
	})
	if err != nil {
		return nil, fmt.Errorf("NATS server: %w", err)
	}
	s.Start()
	deadline := readyTimeout
	if d, ok := ctx.Deadline(); ok {
		deadline = min(deadline, time.Until(d))
	}
	if !s.ReadyForConnections(deadline) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("%w: listen on %s, streams in %s (is the port taken, or the folder used by another server?)", ErrNotReady, o.Addr, o.StoreDir)
	}
	return &Server{s: s}, nil
}

// URL returns the address for clients, nats://HOST:PORT.
func (s *Server) URL() string { return s.s.ClientURL() }

// Close stops the server and waits until its files are closed.
func (s *Server) Close() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}
