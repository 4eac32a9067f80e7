package main

import (
	"encoding/json"
	"io"
	"math"

	"sluice/bench/meter"
	"sluice/bench/orders"
)

// result is what one run did and took. The fields are those of the peer.
type result struct {
	Peer       string            `json:"peer"`
	Workload   string            `json:"workload"`
	Phase      string            `json:"phase"`
	Rep        int               `json:"rep"`
	Rows       uint64            `json:"rows"`
	Bytes      int64             `json:"bytes"`
	WallS      float64           `json:"wall_s"`
	CPUS       float64           `json:"cpu_s"`
	RowsPerS   int64             `json:"rows_per_s"`
	RowsPerCPU int64             `json:"rows_per_cpu_s"`
	GCS        float64           `json:"gc_s"`
	PeakRSSMB  int64             `json:"peak_rss_mb"`
	HeapMB     int64             `json:"heap_mb"`
	HeapPeakMB int64             `json:"heap_peak_mb"`
	Digest     map[string]string `json:"digest"`
	Notes      map[string]any    `json:"notes"`
}

// newResult is to be called right after the timed part: it takes the peaks of
// memory.
func newResult(rows uint64, bytes int64, m *meter.Meter) *result {
	wall, cpu := m.Wall.Seconds(), m.CPU.Seconds()
	return &result{
		Peer: "sluice", Rows: rows, Bytes: bytes,
		WallS: thousandths(wall), CPUS: thousandths(cpu), GCS: thousandths(m.GC.Seconds()),
		RowsPerS: rate(rows, wall), RowsPerCPU: rate(rows, cpu),
		PeakRSSMB: meter.PeakRSS() >> 20, HeapMB: meter.HeapLimitMiB(), HeapPeakMB: int64(m.HeapPeakBytes >> 20),
		Digest: map[string]string{}, Notes: map[string]any{},
	}
}

// rate is 0 if the time is too short to be measured.
func rate(rows uint64, seconds float64) int64 {
	if seconds <= 0 {
		return 0
	}
	return int64(math.Round(float64(rows) / seconds))
}

func thousandths(v float64) float64 { return math.Round(v*1e3) / 1e3 }

func (r *result) note(name string, value any) *result {
	r.Notes[name] = value
	return r
}

func (r *result) digest(name string, d orders.Digest) *result {
	r.Digest[name] = d.String()
	return r
}

func (r *result) print(out io.Writer, workload, phase string, rep int) error {
	r.Workload, r.Phase, r.Rep = workload, phase, rep
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}
