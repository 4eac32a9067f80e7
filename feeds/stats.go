package feeds

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
	ReadersTaken                     int64 // sources taken from one subscription for another
	TailWaits                        int64 // times that the tail waited for the fastest subscription
	Acks                             int64
}

// Stats returns the feed's counters.
func (f *Feed) Stats() Stats {
	c := &f.c
	s := Stats{
		Batches: c.batches.Load(), Rows: c.rows.Load(), Commits: c.commits.Load(),
		ReaderBatches: c.readerBatches.Load(), ReaderRows: c.readerRows.Load(),
		Deliveries: c.deliveries.Load(), RowsDelivered: c.delivered.Load(), Bytes: c.sent.Load(),
		SharedEncodings: c.goneEncodings.Load(), SharedUses: c.goneShared.Load(), PrivateEncodings: c.privateEncodings.Load(),
		Demoted: c.demoted.Load(), Promoted: c.promoted.Load(),
		Opens: c.opens.Load(), Jumps: c.jumps.Load(), Retries: c.retries.Load(), TailWaits: c.tailWaits.Load(), ReadersTaken: c.taken.Load(), Acks: c.acks.Load(),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Subscriptions, s.Readers, s.Views, s.Tailing = len(f.subs), f.readers, len(f.views), f.tail != nil
	s.WindowBytes, s.WindowFrames, s.Evicted = f.win.bytes, len(f.win.frames), f.win.evicts
	for _, v := range f.views {
		s.SharedEncodings += v.encoded.Load()
		s.SharedUses += v.shared.Load()
	}
	return s
}

// Metric describes one number of [Stats] for who exports them.
type Metric struct {
	Name    string // such as gateway_feeds_subscriptions; the label is feed, the feed's name
	Help    string
	Counter bool // it only grows; else it goes up and down
	Get     func(*Stats) float64
}

// Metrics returns what a page of metrics should show of each feed.
func Metrics() []Metric {
	return []Metric{
		{"gateway_feeds_subscriptions", "Open subscriptions.", false, func(s *Stats) float64 { return float64(s.Subscriptions) }},
		{"gateway_feeds_readers", "Subscriptions behind the window, which read the table themselves.", false, func(s *Stats) float64 { return float64(s.Readers) }},
		{"gateway_feeds_readers_taken_total", "Times that a reader had to open the table again because others needed its place.", true, func(s *Stats) float64 { return float64(s.ReadersTaken) }},
		{"gateway_feeds_views", "Different forms (format, columns, limits) in use.", false, func(s *Stats) float64 { return float64(s.Views) }},
		{"gateway_feeds_window_bytes", "Memory held by the window, encodings included.", false, func(s *Stats) float64 { return float64(s.WindowBytes) }},
		{"gateway_feeds_rows_decoded_total", "Rows decoded by the tail, once for all subscriptions.", true, func(s *Stats) float64 { return float64(s.Rows) }},
		{"gateway_feeds_commits_total", "Commits that the tail has read.", true, func(s *Stats) float64 { return float64(s.Commits) }},
		{"gateway_feeds_reader_rows_decoded_total", "Rows decoded by subscriptions behind the window.", true, func(s *Stats) float64 { return float64(s.ReaderRows) }},
		{"gateway_feeds_rows_delivered_total", "Rows given to transports.", true, func(s *Stats) float64 { return float64(s.RowsDelivered) }},
		{"gateway_feeds_delivered_bytes_total", "Encoded bytes given to transports.", true, func(s *Stats) float64 { return float64(s.Bytes) }},
		{"gateway_feeds_encodings_total", "Frames encoded, once a view.", true, func(s *Stats) float64 { return float64(s.SharedEncodings) }},
		{"gateway_feeds_private_encodings_total", "Frames encoded for one subscription.", true, func(s *Stats) float64 { return float64(s.PrivateEncodings) }},
		{"gateway_feeds_demoted_total", "Times that a subscription fell out of the window.", true, func(s *Stats) float64 { return float64(s.Demoted) }},
		{"gateway_feeds_promoted_total", "Times that a subscription came back into the window.", true, func(s *Stats) float64 { return float64(s.Promoted) }},
		{"gateway_feeds_evicted_frames_total", "Frames dropped from the window.", true, func(s *Stats) float64 { return float64(s.Evicted) }},
		{"gateway_feeds_tail_retries_total", "Failed reads of the tail.", true, func(s *Stats) float64 { return float64(s.Retries) }},
		{"gateway_feeds_acks_total", "Positions acknowledged by named consumers.", true, func(s *Stats) float64 { return float64(s.Acks) }},
	}
}
