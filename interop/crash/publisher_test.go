package crash

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/embeddednats"
)

// TestCrashPublisher kills a gateway that publishes to a stream of a NATS server
// which survives, and then one whose server is killed as well, alone or together
// with it, and comes back with its files. The stream ends with each change once,
// in order.
func TestCrashPublisher(t *testing.T) {
	t.Parallel()
	t.Run("server survives", func(t *testing.T) {
		t.Parallel()
		r := chance(t)
		dir := t.TempDir()
		table := createTable(t, dir)
		srv, err := embeddednats.Start(t.Context(), embeddednats.Options{Addr: freePort(t, r), StoreDir: t.TempDir()})
		require.NoError(t, err)
		defer srv.Close()
		g := newGateway(t, r, dir, srv.URL())
		g.start()
		w := write(t, table)
		for range kills(t, 4) {
			pause(r, 250*time.Millisecond)
			g.p.kill()
			g.start()
		}
		w.end()
		changes := requireOps(t, table, [sources]int64{})
		requireStream(t, srv.URL(), streamName, changes)
		g.p.stop()
		requireStream(t, srv.URL(), streamName, changes)
		t.Logf("%d changes in %d snapshots", len(changes), w.last)
	})
	t.Run("server dies too", func(t *testing.T) {
		t.Parallel()
		r := chance(t)
		dir, store := t.TempDir(), t.TempDir()
		table := createTable(t, dir)
		addr := freePort(t, r)
		server := startNATS(t, addr, store)
		g := newGateway(t, r, dir, "nats://"+addr)
		g.start()
		w := write(t, table)
		for range kills(t, 4) {
			pause(r, 250*time.Millisecond)
			which := r.IntN(3)
			if which != 0 {
				server.kill()
			}
			if which != 1 {
				g.p.kill()
			}
			pause(r, 50*time.Millisecond)
			gatewayFirst := r.IntN(2) == 0 // it serves, and publishes once it can
			if which != 1 && gatewayFirst {
				g.start()
			}
			if which != 0 {
				server = startNATS(t, addr, store)
			}
			if which != 1 && !gatewayFirst {
				g.start()
			}
		}
		w.end()
		changes := requireOps(t, table, [sources]int64{})
		requireStream(t, "nats://"+addr, streamName, changes)
		g.p.stop()
		server.kill()
		server = startNATS(t, addr, store)
		requireStream(t, "nats://"+addr, streamName, changes)
		server.kill()
		t.Logf("%d changes in %d snapshots", len(changes), w.last)
	})
}
