package natsfeed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errOutOfStep ends a session whose message got another place than expected.
var errOutOfStep = errors.New("message got another sequence number than expected")

// errOver is the failure of a session that has ended.
var errOver = errors.New("session is over")

// acks keeps the messages of a session that wait for their acknowledgement, at
// most as many as it has slots. Answers of the server come to a subject of the
// session, with the sequence number that the message must get as last token, so
// nothing has to be looked up. The goroutine of the subscription handles them.
type acks struct {
	p      *Publisher
	cancel context.CancelFunc // ends the sending
	inbox  string             // subject of answers, up to the last token
	plain  []byte             // how answers begin that end with the sequence number; learnt of the first. For the answering goroutine alone
	sub    *nats.Subscription
	timer  *time.Timer

	mu      sync.Mutex
	slots   []slot
	first   uint64        // sequence number of the oldest message that waits
	next    uint64        // of the message that is sent next
	changed chan struct{} // has a token if a slot is free or the session has failed
	any     bool          // a message was acknowledged
	failure error
}

// slot is a message on its way.
type slot struct {
	rows  int
	sent  time.Time
	acked bool
}

// newAcks subscribes to the answers. Messages follow the one with the sequence
// number last.
func newAcks(p *Publisher, last uint64, cancel context.CancelFunc) (*acks, error) {
	a := &acks{
		p: p, cancel: cancel, inbox: p.nc.NewInbox() + ".",
		slots: make([]slot, p.o.InFlight), first: last + 1, next: last + 1, changed: make(chan struct{}, 1),
	}
	var err error
	if a.sub, err = p.nc.Subscribe(a.inbox+"*", a.answer); err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	a.timer = time.AfterFunc(p.o.AckTimeout, a.checkTime)
	return a, nil
}

// close ends the subscription. Answers that come late are not counted.
func (a *acks) close() {
	a.fail(errOver)
	a.timer.Stop()
	_ = a.sub.Unsubscribe() // it fails with the connection, which then has no subscriptions
}

// reserve waits for a free slot and takes it for the next message. It returns
// the subject for the answer.
func (a *acks) reserve(ctx context.Context, rows int) (reply string, err error) {
	for {
		a.mu.Lock()
		if err = a.failure; err == nil && a.next-a.first < uint64(len(a.slots)) {
			a.slots[a.next%uint64(len(a.slots))] = slot{rows: rows, sent: time.Now()}
			reply = a.inbox + strconv.FormatUint(a.next, 10)
			a.next++
			a.mu.Unlock()
			return reply, nil
		}
		a.mu.Unlock()
		if err != nil {
			return "", err
		}
		select {
		case <-a.changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// waiting returns how many messages wait for their acknowledgement.
func (a *acks) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.next - a.first)
}

// drain waits until no message waits any more, or until the time is up. It tells
// whether any message of the session was acknowledged, and why the session
// failed, if it did.
func (a *acks) drain(limit time.Duration) (acked bool, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		a.mu.Lock()
		left, acked, failure := a.next-a.first, a.any, a.failure
		a.mu.Unlock()
		if left == 0 || failure != nil {
			return acked, failure
		}
		select {
		case <-a.changed:
		case <-timer.C:
			return acked, errors.New("acknowledgements did not come in time")
		}
	}
}

func (a *acks) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// fail ends the session; the first failure is the one to tell.
func (a *acks) fail(err error) {
	a.mu.Lock()
	if a.failure == nil {
		a.failure = err
	}
	a.mu.Unlock()
	a.cancel()
	a.signal()
}

// answer handles an answer of the server.
func (a *acks) answer(m *nats.Msg) {
	seq, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, a.inbox), 10, 64)
	if err != nil {
		return // nobody that we asked
	}
	got, err := a.read(m)
	if err == nil && got != seq {
		err = fmt.Errorf("%w: %d instead of %d", errOutOfStep, got, seq)
	}
	if err != nil {
		a.fail(fmt.Errorf("message %d of stream %s: %w", seq, a.p.o.Stream, err))
		return
	}
	a.acknowledged(seq)
}

// publishAnswer is what JetStream says to a published message.
type publishAnswer struct {
	Error     *jetstream.APIError `json:"error"`
	Stream    string              `json:"stream"`
	Sequence  uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
}

// read returns the sequence number that a message got.
func (a *acks) read(m *nats.Msg) (uint64, error) {
	if a.plain != nil {
		if n, ok := readPlain(m.Data, a.plain); ok {
			return n, nil
		}
	}
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return 0, jetstream.ErrNoStreamResponse
	}
	var answer publishAnswer
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", jetstream.ErrInvalidJSAck, err)
	case answer.Error != nil:
		return 0, answer.Error
	case answer.Stream == "":
		return 0, jetstream.ErrInvalidJSAck
	case answer.Duplicate:
		return 0, fmt.Errorf("%w: it is a duplicate of %d", errOutOfStep, answer.Sequence)
	}
	const last = `"seq":`
	if at := bytes.LastIndex(m.Data, []byte(last)) + len(last); at >= len(last) {
		if n, ok := readPlain(m.Data, m.Data[:at]); ok && n == answer.Sequence {
			a.plain = bytes.Clone(m.Data[:at])
		}
	}
	return answer.Sequence, nil
}

// readPlain reads an answer that is a known text, the sequence number and a
// closing brace. That is what nearly all are, and not worth a JSON decoder.
func readPlain(data, begin []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(data, begin)
	if !ok {
		return 0, false
	}
	digits, ok = bytes.CutSuffix(digits, []byte("}"))
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, ok && err == nil
}

// acknowledged frees the slots of all messages that were acknowledged up to the
// first that still waits: answers nearly always come in order.
func (a *acks) acknowledged(seq uint64) {
	size := uint64(len(a.slots))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure != nil || seq < a.first || seq >= a.next {
		return
	}
	a.slots[seq%size].acked = true
	begin := a.first
	for a.first < a.next && a.slots[a.first%size].acked {
		a.p.messages.Add(1)
		a.p.rows.Add(uint64(a.slots[a.first%size].rows))
		a.first++
	}
	if a.first > begin {
		a.any = true
		a.p.sequence.Store(a.first - 1)
		a.signal()
	}
}

// checkTime fails the session if the oldest message waits for too long, and looks
// again when it will.
func (a *acks) checkTime() {
	a.mu.Lock()
	if a.failure != nil {
		a.mu.Unlock()
		return
	}
	limit := a.p.o.AckTimeout
	wait := limit
	if a.first < a.next {
		wait = limit - time.Since(a.slots[a.first%uint64(len(a.slots))].sent)
	}
	first := a.first
	if wait > 0 {
		a.timer.Reset(wait)
	}
	a.mu.Unlock()
	if wait <= 0 {
		a.fail(fmt.Errorf("message %d of stream %s: no acknowledgement within %v", first, a.p.o.Stream, limit))
	}
}
