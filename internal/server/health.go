package server

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"sluice/internal/telemetry"
	"sluice/paimon"
	"sluice/tablewriter"
)

// healthEvery is how often the state of the tables' buckets is looked at: it reads
// manifests, which a scrape should not wait for.
const healthEvery = 30 * time.Second

// tableHealth is the last that is known of a table's buckets.
type tableHealth struct {
	name string
	last atomic.Pointer[healthTotals] // nil: not known yet, or no such table
}

// healthTotals are sums over the buckets of a table, but for runs.
type healthTotals struct {
	runs, level0, files, small, due int
	bytes                           int64
}

// healthMetrics are the gauges of a table.
var healthMetrics = []struct {
	name, help string
	get        func(*healthTotals) float64
}{
	{"gateway_table_sorted_runs", "Sorted runs of the bucket that has most.", func(h *healthTotals) float64 { return float64(h.runs) }},
	{"gateway_table_level0_files", "Files on level 0, of all buckets.", func(h *healthTotals) float64 { return float64(h.level0) }},
	{"gateway_table_files", "Data files.", func(h *healthTotals) float64 { return float64(h.files) }},
	{"gateway_table_small_files", "Files above level 0 that a compaction would merge with others.", func(h *healthTotals) float64 { return float64(h.small) }},
	{"gateway_table_bytes", "Bytes of data files.", func(h *healthTotals) float64 { return float64(h.bytes) }},
	{"gateway_table_buckets_to_compact", "Buckets that the table's strategy would compact now.", func(h *healthTotals) float64 { return float64(h.due) }},
}

// newHealths returns what will be known of the tables of the feeds.
func (s *Server) newHealths() []*tableHealth {
	seen := map[string]bool{}
	var out []*tableHealth
	for i := range s.cfg.Feeds {
		if name := s.cfg.Feeds[i].Table; !seen[name] {
			seen[name] = true
			out = append(out, &tableHealth{name: name})
		}
	}
	return out
}

func (h *tableHealth) register(r *telemetry.Registry) {
	for _, m := range healthMetrics {
		telemetry.Register(r, telemetry.Metric{
			Name: m.name, Help: m.help, Labels: map[string]string{"table": h.name},
			Value: func() float64 {
				if t := h.last.Load(); t != nil {
					return m.get(t)
				}
				return math.NaN()
			},
		})
	}
}

// watchHealth looks at the tables until ctx ends.
func (s *Server) watchHealth(ctx context.Context) error {
	timer := time.NewTicker(healthEvery)
	defer timer.Stop()
	for {
		for _, h := range s.healths {
			t, err := s.lookAt(ctx, h.name)
			if err != nil && ctx.Err() == nil {
				s.log.Warn("the state of a table's files is not known", telemetry.KeyTable, h.name, telemetry.KeyError, err)
			}
			h.last.Store(t)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// lookAt returns nil for tables that are not there or have no buckets of this kind.
func (s *Server) lookAt(ctx context.Context, name string) (*healthTotals, error) {
	t, err := s.cat.OpenTable(ctx, name)
	if errors.Is(err, paimon.ErrTableNotFound) || errors.Is(err, paimon.ErrDatabaseNotFound) {
		return nil, nil
	}
	if err != nil || !t.Schema().HasPrimaryKey() {
		return nil, err
	}
	buckets, err := tablewriter.Health(ctx, t, time.Now())
	if err != nil {
		return nil, err
	}
	out := &healthTotals{}
	for i := range buckets {
		b := &buckets[i]
		out.runs = max(out.runs, b.Runs)
		out.small += b.SmallFiles
		for _, l := range b.Levels {
			out.files += l.Files
			out.bytes += l.Bytes
			if l.Level == 0 {
				out.level0 += l.Files
			}
		}
		if b.Next != nil {
			out.due++
		}
	}
	return out, nil
}
