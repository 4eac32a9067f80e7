package snapshotreader

import (
	"fmt"
	"time"
)

// Options of a [Tailer]. The zero value follows a table for ever.
type Options struct {
	// BatchRows is how many rows a batch has at most, or one more where that keeps
	// the two rows of an update together; 4096 if 0.
	BatchRows int
	// BatchBytes is about how many bytes a batch takes at most; 1 MiB if 0. A
	// single row may be larger.
	BatchBytes int
	// Until is where the stream ends: Next then returns io.EOF.
	Until Until
	// Columns are delivered, in this order; nil: all that the schema of each
	// snapshot has. A snapshot whose schema lacks one is an error.
	Columns []string
	// StreamOverwrite tells whether overwrites are delivered, as -D of what was
	// there and the rows that came; nil: as the options streaming-read-overwrite
	// and, in append tables, streaming-read-append-overwrite say. It must not
	// change between a cursor's making and its use.
	StreamOverwrite *bool
	// PollMin and PollMax bound the pause between two looks for the next
	// snapshot, which is an eighth of how long nothing has come; 2 ms and 50 ms if 0.
	PollMin, PollMax time.Duration
	// CheckInterval is how often a waiting tailer makes sure that what it waits
	// for can still come; 1 s if 0. The first time is at once.
	CheckInterval time.Duration
	// Now tells the time; time.Now if nil.
	Now func() time.Time
}

func (o Options) withDefaults() (Options, error) {
	if o.BatchRows < 0 || o.BatchBytes < 0 || o.PollMin < 0 || o.PollMax < 0 || o.CheckInterval < 0 {
		return o, fmt.Errorf("snapshot reader options: a limit is negative")
	}
	if o.PollMin == 0 {
		o.PollMin = 2 * time.Millisecond
	}
	if o.PollMax == 0 {
		o.PollMax = max(50*time.Millisecond, o.PollMin)
	}
	if o.PollMax < o.PollMin {
		return o, fmt.Errorf("snapshot reader options: PollMax %s is less than PollMin %s", o.PollMax, o.PollMin)
	}
	if o.CheckInterval == 0 {
		o.CheckInterval = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// pause returns how long to wait before the next look, after a silence.
func (o *Options) pause(silence time.Duration) time.Duration {
	return min(max(silence/8, o.PollMin), o.PollMax)
}
