package natsfeed

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sluice/feeds"
)

// WriteBufferBytes is how much a publisher's connection should collect before it
// writes: by default it writes after one or two messages of a hundred events.
const WriteBufferBytes = 256 << 10

// Options configures a [Publisher].
type Options struct {
	Stream           string // required
	Subject          string // template; default chg.{db}.{table}.{bucket}.{kind}, without the kind if there are several events a message
	EnsureStream     bool   // create the stream if there is none: file storage, one replica
	EventsPerMessage int    // 1: a message a change; else a JSON list of up to so many changes of one bucket. Default 1
	// Start is where an empty stream begins. A stream with messages goes on
	// after the last one.
	Start feeds.Start
	// Name of this publisher in its messages; default a random one. Two
	// publishers of one stream never share a name.
	Name         string
	InFlight     int           // messages that wait for their acknowledgement; default 4096
	AckTimeout   time.Duration // for each message; default 5 s
	RetryMin     time.Duration // before a new session; default 50 ms
	RetryMax     time.Duration // default 5 s
	DrainTimeout time.Duration // for acknowledgements when stopping; default 2 s
	PayloadMax   int           // bytes of a message without headers; default: what the server allows, less 4 KiB
	PinInterval  time.Duration // how often the position is stored as the feed's consumer nats-STREAM, which keeps history from expiring; default 10 s
	Events       Events
}

// Events are told what happens; any may be nil. They must not block.
type Events struct {
	Warning func(stream string, f Finding)   // something about the stream that may be intended
	Retry   func(stream string, cause error) // a session ended, another one follows
	Resumed func(stream string, at feeds.Cursor, sequence uint64)
}

func (e *Events) warn(stream string, f Finding) {
	if e.Warning != nil {
		e.Warning(stream, f)
	}
}

func (e *Events) retry(stream string, err error) {
	if e.Retry != nil {
		e.Retry(stream, err)
	}
}

func (e *Events) resumed(stream string, at feeds.Cursor, sequence uint64) {
	if e.Resumed != nil {
		e.Resumed(stream, at, sequence)
	}
}

// InFlightMax and EventsMax bound the options of the same names.
const (
	InFlightMax = 65_536
	EventsMax   = 10_000
)

func (o Options) withDefaults() Options {
	if o.EventsPerMessage == 0 {
		o.EventsPerMessage = 1
	}
	if o.Subject == "" {
		o.Subject = "chg.{db}.{table}.{bucket}.{kind}"
		if o.EventsPerMessage > 1 {
			o.Subject = "chg.{db}.{table}.{bucket}"
		}
	}
	if o.Name == "" {
		o.Name = uuid.NewString()
	}
	if o.InFlight == 0 {
		o.InFlight = 4096
	}
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&o.AckTimeout, 5 * time.Second},
		{&o.RetryMin, 50 * time.Millisecond},
		{&o.RetryMax, 5 * time.Second},
		{&o.DrainTimeout, 2 * time.Second},
		{&o.PinInterval, 10 * time.Second},
	} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	return o
}

// Validate returns an error that names the option out of range.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Stream == "":
		return errors.New("natsfeed: option Stream is missing")
	case o.EventsPerMessage < 1 || o.EventsPerMessage > EventsMax:
		return fmt.Errorf("natsfeed: option EventsPerMessage is %d: want 1 to %d", o.EventsPerMessage, EventsMax)
	case o.InFlight < 1 || o.InFlight > InFlightMax:
		return fmt.Errorf("natsfeed: option InFlight is %d: want 1 to %d", o.InFlight, InFlightMax)
	case o.RetryMin > o.RetryMax:
		return fmt.Errorf("natsfeed: option RetryMin %v is above RetryMax %v", o.RetryMin, o.RetryMax)
	}
	_, err := parseTemplate(o.Subject, o.EventsPerMessage)
	return err
}
