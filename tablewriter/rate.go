package tablewriter

import (
	"context"
	"sync"
	"time"

	"sluice/lsm"
	"sluice/paimon/datafile"
)

// rate is a token bucket: bytes may be written at a steady rate, and at once as
// many as it gives in rateBurst. Whoever takes more than there is owes it and
// waits until the debt is paid, so that all who wait are served in turn.
type rate struct {
	perSecond, burst float64

	mu    sync.Mutex
	there float64 // bytes; negative: owed
	at    time.Time
}

const (
	rateBurst = 100 * time.Millisecond
	// rateChunkMin bounds how often a slow rate interrupts a write.
	rateChunkMin = 4 << 10
)

func newRate(bytesPerSecond int64) *rate {
	r := &rate{perSecond: float64(bytesPerSecond), at: time.Now()}
	r.burst = r.perSecond * rateBurst.Seconds()
	r.there = r.burst
	return r
}

// chunk is how many bytes are written at a time.
func (r *rate) chunk() int { return int(max(r.burst, rateChunkMin)) }

// take takes bytes and waits until they may be written. Bytes that are not waited
// for because ctx ends are given back.
func (r *rate) take(ctx context.Context, bytes int) error {
	wait := r.reserve(float64(bytes))
	if wait <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		r.reserve(-float64(bytes))
		return context.Cause(ctx)
	}
}

// reserve takes bytes and returns how long to wait for them.
func (r *rate) reserve(bytes float64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.there = min(r.there+now.Sub(r.at).Seconds()*r.perSecond, r.burst) - bytes
	r.at = now
	return time.Duration(-r.there / r.perSecond * float64(time.Second))
}

// limited makes the files of a compaction count, and be written no faster than
// they may.
func (c *Compactions) limited(create lsm.Create) lsm.Create {
	return func(ctx context.Context, name string) (datafile.Sink, error) {
		sink, err := create(ctx, name)
		if err != nil {
			return nil, err
		}
		return &limitedSink{Sink: sink, ctx: ctx, c: c}, nil
	}
}

// limitedSink is the file of a compaction.
type limitedSink struct {
	datafile.Sink
	ctx context.Context // of the compaction, which the file does not outlive
	c   *Compactions
}

func (s *limitedSink) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b
		if r := s.c.rate; r != nil {
			part = b[:min(len(b), r.chunk())]
			begin := time.Now()
			err := r.take(s.ctx, len(part))
			s.c.rateNanos.Add(int64(time.Since(begin)))
			if err != nil {
				return n, err
			}
		}
		m, err := s.Sink.Write(part)
		n += m
		s.c.written.Add(int64(m))
		if err != nil {
			return n, err
		}
		b = b[len(part):]
	}
	return n, nil
}
