package natsfeed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ensure returns the stream, creating it if that was asked for.
func (p *Publisher) ensure(ctx context.Context) (jetstream.Stream, error) {
	s, err := p.js.Stream(ctx, p.o.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if !p.o.EnsureStream {
			return nil, fmt.Errorf("%w: create %s with subjects %s and file storage, or set ensure-stream", ErrNoStream, p.o.Stream, p.subjects.wildcard())
		}
		s, err = p.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: p.o.Stream, Subjects: []string{p.subjects.wildcard()}, Storage: jetstream.FileStorage, AllowDirect: true,
			Description: "changes of feed " + p.feed.Name(),
		})
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", p.o.Stream, err)
	}
	var fatal []Finding
	for _, f := range Check(s.CachedInfo().Config, p.subjects.wildcard(), p.o.EventsPerMessage) {
		if f.Fatal {
			fatal = append(fatal, f)
		} else {
			p.o.Events.warn(p.o.Stream, f)
		}
	}
	if len(fatal) > 0 {
		return nil, &StreamError{Stream: p.o.Stream, Findings: fatal}
	}
	return s, nil
}

// Check tells what is wrong with the configuration of a stream for messages
// whose subjects match a filter, with what to do about it.
func Check(c jetstream.StreamConfig, filter string, eventsPerMessage int) []Finding {
	var all []Finding
	add := func(fatal bool, problem, fix string, args ...any) {
		all = append(all, Finding{Problem: problem, Fix: fmt.Sprintf(fix, args...), Fatal: fatal})
	}
	covered := false
	for _, s := range c.Subjects {
		covered = covered || covers(s, filter)
	}
	switch {
	case c.Mirror != nil:
		add(true, "it is a mirror", "publish to the stream that it mirrors, %s", c.Mirror.Name)
	case !covered:
		add(true, fmt.Sprintf("its subjects %v do not cover %s", c.Subjects, filter), "add the subject %s", filter)
	}
	if c.Sealed {
		add(true, "it is sealed", "use another stream")
	}
	if c.NoAck {
		add(true, "it does not acknowledge", "set no_ack to false")
	}
	if c.Retention != jetstream.LimitsPolicy {
		add(true, "messages go away when they are acknowledged, the last one that holds the position too", "set the retention to limits")
	}
	if c.MaxMsgsPerSubject > 0 {
		add(false, fmt.Sprintf("it keeps %d messages a subject", c.MaxMsgsPerSubject), "consumers see the last ones only; intended for a latest-value stream")
	}
	if c.Storage == jetstream.MemoryStorage {
		add(false, "it is in memory", "it forgets its messages and the position when the server stops; use file storage")
	}
	if c.Discard == jetstream.DiscardOld && (c.MaxMsgs > 0 || c.MaxBytes > 0) {
		add(false, "it drops its oldest messages when it is full", "consumers that are too slow lose changes; use discard new to stop the publisher instead")
	}
	if c.MaxAge > 0 {
		add(false, fmt.Sprintf("it drops messages after %v", c.MaxAge), "if no change comes for so long, the position goes too; leave max_age away")
	}
	if c.MaxMsgSize > 0 && c.MaxMsgSize < 64<<10 && eventsPerMessage > 1 {
		add(false, fmt.Sprintf("its messages have at most %d bytes", c.MaxMsgSize), "fewer events a message fit")
	}
	return all
}

// covers tells whether every subject that matches filter matches subject too.
func covers(subject, filter string) bool {
	a, b := strings.Split(subject, "."), strings.Split(filter, ".")
	for i, token := range a {
		switch {
		case token == ">":
			return len(b) > i
		case i >= len(b):
			return false
		case token == "*":
		case token != b[i]:
			return false
		}
	}
	return len(a) == len(b)
}
