package feeds

import (
	"fmt"
	"time"
)

// Options configures a [Hub]. The zero value is usable.
type Options struct {
	WindowBytes      int           // most bytes in the window of a feed, decoded rows and encodings; default 64 MiB
	BatchRows        int           // most rows decoded at a time, a quarter of it behind the window; default 4096
	BatchBytes       int           // about the most bytes decoded at a time, a quarter of it behind the window; default 1 MiB
	SubscriptionsMax int           // most subscriptions of a feed; default 100,000
	ReadersMax       int           // most sources of a feed that are open for subscriptions behind the window; default 256
	ViewsMax         int           // most different views of a feed at a time; default 64
	JumpSnapshots    int           // a subscription further ahead of the tail than this makes the tail jump; default 64
	Linger           time.Duration // how long the tail outlives the last subscription; default 10 s
	ProgressInterval time.Duration // silence before a progress frame, if a request leaves it open; default 1 s
	StatusInterval   time.Duration // how old the oldest snapshot in progress frames may be; default 5 s
	RetryMin         time.Duration // first wait after the tail failed to read; default 100 ms
	RetryMax         time.Duration // longest wait between retries; default 5 s
	RetriesMax       int           // failures in a row before the tail gives up; default 10
	ReconnectSpread  time.Duration // over which clients come back after a drain; default 2 s

	Now func() time.Time // clock; default time.Now
}

// Bounds of a request's progress interval.
const (
	ProgressIntervalMin = 100 * time.Millisecond
	ProgressIntervalMax = 60 * time.Second
)

// LingerMax is the longest time that a request may let rows wait for more.
const LingerMax = time.Second

func (o Options) withDefaults() Options {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	wait := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.WindowBytes, 64<<20)
	set(&o.BatchRows, 4096)
	set(&o.BatchBytes, 1<<20)
	set(&o.SubscriptionsMax, 100_000)
	set(&o.ReadersMax, 256)
	set(&o.ViewsMax, 64)
	set(&o.JumpSnapshots, 64)
	set(&o.RetriesMax, 10)
	wait(&o.Linger, 10*time.Second)
	wait(&o.ProgressInterval, time.Second)
	wait(&o.StatusInterval, 5*time.Second)
	wait(&o.RetryMin, 100*time.Millisecond)
	wait(&o.RetryMax, 5*time.Second)
	wait(&o.ReconnectSpread, 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate returns an error that names the first option out of range.
func (o Options) Validate() error {
	for _, v := range []struct {
		name string
		n    int64
	}{
		{"WindowBytes", int64(o.WindowBytes)},
		{"BatchRows", int64(o.BatchRows)},
		{"BatchBytes", int64(o.BatchBytes)},
		{"SubscriptionsMax", int64(o.SubscriptionsMax)},
		{"ReadersMax", int64(o.ReadersMax)},
		{"ViewsMax", int64(o.ViewsMax)},
		{"JumpSnapshots", int64(o.JumpSnapshots)},
		{"Linger", int64(o.Linger)},
		{"ProgressInterval", int64(o.ProgressInterval)},
		{"StatusInterval", int64(o.StatusInterval)},
		{"RetryMin", int64(o.RetryMin)},
		{"RetryMax", int64(o.RetryMax)},
		{"RetriesMax", int64(o.RetriesMax)},
		{"ReconnectSpread", int64(o.ReconnectSpread)},
	} {
		if v.n < 0 {
			return fmt.Errorf("feeds option %s is %d: want 0 for the default, or more", v.name, v.n)
		}
	}
	return nil
}

// Request is what a subscriber asks for.
type Request struct {
	Feed     string
	Start    *Start // nil: the stored position of Consumer, else latest
	Until    Until
	View     View
	Linger   time.Duration // how long NextBatch waits for more rows; 0: not at all
	Progress time.Duration // longest silence before a progress frame; 0: the hub's
	Consumer string        // named consumer; "": none
}

// normalize checks a request and fills in what it leaves open.
func (r Request) normalize(o Options) (Request, error) {
	v, err := r.View.normalize()
	if err != nil {
		return r, err
	}
	r.View = v
	if r.Linger < 0 || r.Linger > LingerMax {
		return r, &RequestError{Field: "limits.linger", Why: fmt.Sprintf("%v: want 0 to %v", r.Linger, LingerMax)}
	}
	if r.Progress == 0 {
		r.Progress = o.ProgressInterval
	}
	r.Progress = min(max(r.Progress, ProgressIntervalMin), ProgressIntervalMax)
	if r.Consumer != "" {
		if err := CheckConsumer(r.Consumer); err != nil {
			return r, err
		}
	}
	return r, nil
}

// CheckConsumer returns a [*RequestError] if a text can't be the name of a
// consumer: it becomes part of a file's name.
func CheckConsumer(name string) error {
	ok := name != "" && len(name) <= 128 && name[0] != '.'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return &RequestError{Field: "consumer", Why: fmt.Sprintf("%q: want 1 to 128 letters, digits, '-', '_' and '.', not '.' first", name)}
	}
	return nil
}
