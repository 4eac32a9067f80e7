package embeddednats

import (
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestMessagesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", StoreDir: dir})
	require.NoError(t, err)
	nc, err := nats.Connect(s.URL())
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "s.a", []byte("hello"))
	require.NoError(t, err)
	nc.Close()
	s.Close()

	s, err = Start(t.Context(), Options{Addr: "127.0.0.1:0", StoreDir: dir})
	require.NoError(t, err)
	defer s.Close()
	nc, err = nats.Connect(s.URL())
	require.NoError(t, err)
	defer nc.Close()
	js, err = jetstream.New(nc)
	require.NoError(t, err)
	st, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	m, err := st.GetLastMsgForSubject(t.Context(), "s.a")
	require.NoError(t, err)
	require.Equal(t, "hello", string(m.Data))
}

func TestATakenPortIsAnError(t *testing.T) {
	s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", StoreDir: t.TempDir()})
	require.NoError(t, err)
	defer s.Close()
	_, err = Start(t.Context(), Options{Addr: strings.TrimPrefix(s.URL(), "nats://"), StoreDir: t.TempDir()})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	_, err = Start(t.Context(), Options{Addr: "localhost", StoreDir: t.TempDir()})
	require.ErrorContains(t, err, "localhost")
}
