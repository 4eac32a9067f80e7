package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"sluice/internal/embeddednats"
	"sluice/interop/subscriber"
)

// What a NATS server is told by its environment.
const (
	natsAddrEnv  = "SLUICE_CRASH_NATS"
	natsStoreEnv = "SLUICE_CRASH_NATS_STORE"
)

// serveNATS is the NATS server process.
func serveNATS(ctx context.Context) error {
	_, err := embeddednats.Start(ctx, embeddednats.Options{Addr: os.Getenv(natsAddrEnv), StoreDir: os.Getenv(natsStoreEnv)})
	if err != nil {
		return err
	}
	fmt.Println("serving")
	select {}
}

func startNATS(t *testing.T, addr, store string) *process {
	t.Helper()
	p := startChild(t, "nats", natsAddrEnv+"="+addr, natsStoreEnv+"="+store)
	p.line("serving")
	return p
}

// requireStream waits until a stream has as many changes as there are, and
// compares them.
func requireStream(t *testing.T, url, stream string, want []subscriber.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true))
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	awaitStream(ctx, t, js, stream)
	messages, err := subscriber.Messages(ctx, js, stream, len(want))
	require.NoError(t, err)
	got := make([]subscriber.Change, 0, len(messages))
	for i := range messages {
		changes, _, err := messages[i].Changes()
		require.NoError(t, err)
		got = append(got, changes...)
	}
	requireSame(t, want, got, "the stream")
}

// awaitStream waits until there is the stream: a gateway makes it once it has found
// the server.
func awaitStream(ctx context.Context, t *testing.T, js jetstream.JetStream, stream string) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := js.Stream(ctx, stream)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			require.NoError(t, err)
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			require.NoError(t, err)
			return
		}
	}
}

// requireSame compares changes and says where they part. Partitions are compared
// where the transport tells them.
func requireSame(t *testing.T, want, got []subscriber.Change, what string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		w := want[i]
		if got[i].Partition == "" {
			w.Partition = ""
		}
		require.Equal(t, w.String(), got[i].String(), "%s: change %d", what, i)
	}
	require.Equal(t, len(want), len(got), "%s: number of changes", what)
}
