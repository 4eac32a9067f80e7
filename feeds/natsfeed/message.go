package natsfeed

import (
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/feeds"
)

// Places of the headers' values.
const (
	valueCursor = iota
	valueSnapshot
	valueOrdinal
	valueSchema
	valuePublisher
	valueID
	valueLastSequence
	valueLastID
	valuePhase
	valueContent // kind or count
	headers
)

// header puts a header of the message. Values lie in the session, so that none
// is allocated.
func (s *session) header(place int, name, value string) {
	s.values[place][0] = value
	s.msg.Header[name] = s.values[place][:]
}

// message makes the message of a delivery. It follows the one sent before it, or
// is refused by the server.
func (s *session) message(d *feeds.Delivery) error {
	p := s.p
	first := d.Frame.At.After(d.From)
	id := s.text // that of the row after the last message, which this one nearly always is
	if first != s.next {
		id = first.String()
	}
	if s.msg.Header == nil {
		s.msg.Header = make(nats.Header, headers)
		s.header(valuePublisher, HeaderPublisher, p.o.Name)
	} else {
		// The sequence number alone does not fence a pipeline: when a stranger's
		// message takes a place, the first of ours is refused, but the second finds
		// the number that it expects. So each also names the message before it.
		s.header(valueLastID, jetstream.ExpectedLastMsgIDHeader, s.values[valueID][0])
	}
	s.next = d.Next()
	s.text = s.next.String()
	s.header(valueCursor, HeaderCursor, s.text)
	s.header(valueSnapshot, HeaderSnapshot, strconv.FormatInt(d.Frame.Commit.Snapshot, 10))
	s.header(valueOrdinal, HeaderOrdinal, strconv.FormatUint(uint64(first.Unit), 10)+"."+strconv.FormatUint(first.Row, 10))
	s.header(valueSchema, HeaderSchema, strconv.FormatInt(d.Frame.Schema.ID, 10))
	s.header(valueID, jetstream.MsgIDHeader, id)
	s.header(valueLastSequence, jetstream.ExpectedLastSeqHeader, strconv.FormatUint(s.last, 10))
	delete(s.msg.Header, HeaderPhase)
	if d.Frame.Commit.Phase == feeds.Image {
		s.header(valuePhase, HeaderPhase, "image")
	}
	pl := place{feed: p.feed.Name(), bucket: d.Frame.Bucket, snapshot: d.Frame.Commit.Snapshot, partition: d.Frame.Partition}
	pl.db, pl.table = splitTable(p.table)
	if p.o.EventsPerMessage == 1 {
		pl.kind = d.Frame.Rows.Kind(d.From)
		s.header(valueContent, HeaderKind, pl.kind.String())
	} else {
		s.header(valueContent, HeaderCount, strconv.Itoa(d.Rows()))
	}
	subject, err := p.subjects.subject(&pl)
	s.msg.Subject, s.msg.Data = subject, d.Bytes
	return err
}
