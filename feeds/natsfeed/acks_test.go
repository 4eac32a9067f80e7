package natsfeed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// newTestAcks makes the acknowledgements of a session after message 10, of which
// nothing is sent.
func newTestAcks(t *testing.T, o Options) (a *acks, ended <-chan struct{}) {
	r := newRig(t)
	o.Stream = "ORDERS"
	p, err := New(r.nc, r.feed, "shop.orders", o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	a, err = newAcks(p, 10, cancel)
	require.NoError(t, err)
	t.Cleanup(a.close)
	return a, ctx.Done()
}

// reply plays the server's answer to the message that asked for it there.
func (a *acks) reply(subject, data string) {
	a.answer(&nats.Msg{Subject: subject, Data: []byte(data)})
}

func TestAcknowledgementsFreeSlotsInOrder(t *testing.T) {
	a, _ := newTestAcks(t, Options{InFlight: 3})
	var replies []string
	for i := range 3 {
		reply, err := a.reserve(t.Context(), i+1)
		require.NoError(t, err)
		replies = append(replies, reply)
	}
	full, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 { // the first may find the token of an earlier signal
		_, err := a.reserve(full, 1)
		require.ErrorIs(t, err, context.Canceled, "a fourth message waits")
	}

	a.reply(replies[1], `{"stream":"ORDERS","seq":12}`)
	require.Equal(t, `{"stream":"ORDERS","seq":`, string(a.plain), "the usual form is known from now on")
	require.Equal(t, 3, a.waiting(), "the first still waits")
	require.Zero(t, a.p.Stats().Messages)
	a.reply(replies[0], `{"domain":"x", "seq": 11, "stream":"ORDERS"}`)
	require.Equal(t, `{"stream":"ORDERS","seq":`, string(a.plain))
	require.Equal(t, 1, a.waiting())
	require.Equal(t, Stats{Messages: 2, Rows: 3, Sequence: 12}, a.p.Stats())
	a.reply(replies[0], `{"stream":"ORDERS","seq":11}`)
	require.Equal(t, 1, a.waiting(), "an answer that comes twice counts once")

	reply, err := a.reserve(t.Context(), 5)
	require.NoError(t, err)
	a.reply(replies[2], `{"stream":"ORDERS","seq":13}`)
	a.reply(reply, `{"stream":"ORDERS","seq":14}`)
	acked, err := a.drain(time.Minute)
	require.NoError(t, err)
	require.True(t, acked)
	require.Equal(t, Stats{Messages: 4, Rows: 11, Sequence: 14}, a.p.Stats())
}

func TestAnswersThatEndTheSession(t *testing.T) {
	for name, tc := range map[string]struct {
		answer *nats.Msg
		check  func(error) bool
	}{
		"another place": {&nats.Msg{Data: []byte(`{"stream":"ORDERS","seq":12}`)}, is(errOutOfStep)},
		"duplicate":     {&nats.Msg{Data: []byte(`{"stream":"ORDERS","seq":11, "duplicate":true}`)}, is(errOutOfStep)},
		"refused":       {&nats.Msg{Data: []byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 12"},"stream":"ORDERS","seq":0}`)}, wrongSequence},
		"no stream":     {&nats.Msg{Header: nats.Header{"Status": {"503"}}}, is(jetstream.ErrNoStreamResponse)},
		"nonsense":      {&nats.Msg{Data: []byte(`{"stream":"ORDERS","seq":1`)}, is(jetstream.ErrInvalidJSAck)},
		"number":        {&nats.Msg{Data: []byte(`{"stream":"ORDERS","seq":-1}`)}, is(jetstream.ErrInvalidJSAck)},
		"nobody":        {&nats.Msg{Data: []byte(`{}`)}, is(jetstream.ErrInvalidJSAck)},
	} {
		t.Run(name, func(t *testing.T) {
			a, ended := newTestAcks(t, Options{})
			a.plain = []byte(`{"stream":"ORDERS","seq":`)
			reply, err := a.reserve(t.Context(), 1)
			require.NoError(t, err)
			tc.answer.Subject = reply
			a.answer(tc.answer)
			<-ended
			acked, err := a.drain(time.Minute)
			require.False(t, acked)
			require.True(t, tc.check(err), "%v", err)
			require.ErrorContains(t, err, "message 11 of stream ORDERS")
			_, again := a.reserve(t.Context(), 1)
			require.Equal(t, err, again, "nothing is sent any more")
			a.reply(reply, `{"stream":"ORDERS","seq":11}`)
			require.Zero(t, a.p.Stats().Messages, "nothing counts any more")
		})
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func TestAnAnswerThatDoesNotComeEndsTheSession(t *testing.T) {
	a, ended := newTestAcks(t, Options{AckTimeout: 20 * time.Millisecond, InFlight: 2})
	for range 2 {
		_, err := a.reserve(t.Context(), 1)
		require.NoError(t, err)
	}
	<-ended
	_, err := a.reserve(t.Context(), 1)
	require.ErrorContains(t, err, "message 11 of stream ORDERS: no acknowledgement within 20ms")
}

// A server that does not answer in time holds a stop up no longer than told.
func TestDrainIsBounded(t *testing.T) {
	a, _ := newTestAcks(t, Options{})
	_, err := a.reserve(t.Context(), 1)
	require.NoError(t, err)
	acked, err := a.drain(time.Millisecond)
	require.ErrorContains(t, err, "did not come in time")
	require.False(t, acked)
}
