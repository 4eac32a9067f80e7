// Package telemetry is the one way to log and to count: a slog logger with keys
// that are declared once, and a Prometheus registry that belongs to a gateway, so
// that two of them in one process share nothing.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Keys of log records.
const (
	KeyTable    = "table"
	KeyFeed     = "feed"
	KeySnapshot = "snapshot"
	KeyStream   = "stream"
	KeyCursor   = "cursor"
	KeyAddr     = "addr"
	KeyError    = "error"
)

// NewLogger returns a logger. Level is debug, info, warn or error; format text or
// json.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}

// Registry keeps the metrics of a gateway.
type Registry = prometheus.Registry

// NewRegistry returns a registry that has the metrics of the Go runtime and of
// the process.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler serves the metrics of a registry.
func Handler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// Metric is a number that is asked for when metrics are read. Labels tell several
// of one name apart; their values are few.
type Metric struct {
	Name, Help string
	Counter    bool // it only grows
	Labels     map[string]string
	Value      func() float64
}

// Register adds a metric to a registry.
func Register(r *Registry, m Metric) {
	if m.Counter {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help, ConstLabels: m.Labels}, m.Value))
		return
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.Name, Help: m.Help, ConstLabels: m.Labels}, m.Value))
}
