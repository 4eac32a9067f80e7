package feeds

import "github.com/prometheus/client_golang/prometheus"

// Stats counts what a feed has done. Counters only grow.
type Stats struct {
	// Now.
	Subscriptions int // open
	Readers       int // of them, reading the table themselves
	Views         int
	WindowBytes   int // held, encodings included
	WindowFrames  int
	Tailing       bool

	// Counters.
	Batches, Rows, Commits           int64 // decoded by the tail
	ReaderBatches, ReaderRows        int64 // decoded by subscriptions behind the window
	Deliveries, RowsDelivered, Bytes int64 // given to transports
	SharedEncodings                  int64 // made once for all subscriptions of a view
	SharedUses                       int64 // deliveries of frames whose encoding was there
	PrivateEncodings                 int64 // made for one subscription
	Demoted, Promoted                int64 // fell out of the window, came back
	Opens, Jumps, Retries, Evicted   int64 // sources opened; tail moved ahead; failed reads of the tail; frames dropped from the window
	TailWaits                        int64 // times that the tail waited for the fastest subscription
	Acks                             int64
}

// Stats returns the feed's counters.
func (f *Feed) Stats() Stats {
	c := &f.c
	s := Stats{
		Readers: int(c.readers.Load()),
		Batches: c.batches.Load(), Rows: c.rows.Load(), Commits: c.commits.Load(),
		ReaderBatches: c.readerBatches.Load(), ReaderRows: c.readerRows.Load(),
		Deliveries: c.deliveries.Load(), RowsDelivered: c.delivered.Load(), Bytes: c.sent.Load(),
		SharedEncodings: c.goneEncodings.Load(), SharedUses: c.goneShared.Load(), PrivateEncodings: c.privateEncodings.Load(),
		Demoted: c.demoted.Load(), Promoted: c.promoted.Load(),
		Opens: c.opens.Load(), Jumps: c.jumps.Load(), Retries: c.retries.Load(), TailWaits: c.tailWaits.Load(), Acks: c.acks.Load(),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Subscriptions, s.Views, s.Tailing = len(f.subs), len(f.views), f.tail != nil
	s.WindowBytes, s.WindowFrames, s.Evicted = f.win.bytes, len(f.win.frames), f.win.evicts
	for _, v := range f.views {
		s.SharedEncodings += v.encoded.Load()
		s.SharedUses += v.shared.Load()
	}
	return s
}

// metric is one number of [Stats] for Prometheus.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(*Stats) float64
}

// collector reads the feeds' counters when Prometheus asks.
type collector struct {
	hub     *Hub
	metrics []metric
}

// NewCollector returns the metrics of all feeds of a hub, labelled by feed.
func NewCollector(h *Hub) prometheus.Collector {
	c := &collector{hub: h}
	add := func(kind prometheus.ValueType, name, help string, get func(*Stats) float64) {
		c.metrics = append(c.metrics, metric{prometheus.NewDesc("gateway_feeds_"+name, help, []string{"feed"}, nil), kind, get})
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "subscriptions", "Open subscriptions.", func(s *Stats) float64 { return float64(s.Subscriptions) })
	add(gauge, "readers", "Subscriptions behind the window, which read the table themselves.", func(s *Stats) float64 { return float64(s.Readers) })
	add(gauge, "views", "Different forms (format, columns, limits) in use.", func(s *Stats) float64 { return float64(s.Views) })
	add(gauge, "window_bytes", "Memory held by the window, encodings included.", func(s *Stats) float64 { return float64(s.WindowBytes) })
	add(counter, "rows_decoded_total", "Rows decoded by the tail, once for all subscriptions.", func(s *Stats) float64 { return float64(s.Rows) })
	add(counter, "commits_total", "Commits that the tail has read.", func(s *Stats) float64 { return float64(s.Commits) })
	add(counter, "reader_rows_decoded_total", "Rows decoded by subscriptions behind the window.", func(s *Stats) float64 { return float64(s.ReaderRows) })
	add(counter, "rows_delivered_total", "Rows given to transports.", func(s *Stats) float64 { return float64(s.RowsDelivered) })
	add(counter, "delivered_bytes_total", "Encoded bytes given to transports.", func(s *Stats) float64 { return float64(s.Bytes) })
	add(counter, "encodings_total", "Frames encoded, once a view.", func(s *Stats) float64 { return float64(s.SharedEncodings) })
	add(counter, "private_encodings_total", "Frames encoded for one subscription.", func(s *Stats) float64 { return float64(s.PrivateEncodings) })
	add(counter, "demoted_total", "Times that a subscription fell out of the window.", func(s *Stats) float64 { return float64(s.Demoted) })
	add(counter, "promoted_total", "Times that a subscription came back into the window.", func(s *Stats) float64 { return float64(s.Promoted) })
	add(counter, "evicted_frames_total", "Frames dropped from the window.", func(s *Stats) float64 { return float64(s.Evicted) })
	add(counter, "tail_retries_total", "Failed reads of the tail.", func(s *Stats) float64 { return float64(s.Retries) })
	add(counter, "acks_total", "Positions acknowledged by named consumers.", func(s *Stats) float64 { return float64(s.Acks) })
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, f := range c.hub.Feeds() {
		s := f.Stats()
		for _, m := range c.metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.get(&s), f.name)
		}
	}
}
