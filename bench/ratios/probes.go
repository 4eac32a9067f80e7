package main

import (
	"context"
	"fmt"
)

// figures are what a run measured, by name.
type figures map[string]float64

// probe is a work of ours.
type probe struct {
	name   string
	what   string
	procs  int // processors of the measured process; 0: all
	run    func(context.Context, *env) (figures, error)
	claims []claim
}

// claim is what a figure of a work is wanted to be: a share of a limit's figure,
// or, without a limit, a number.
type claim struct {
	figure string
	unit   string
	limit  string // name of a benchmark of bench/limits
	metric string // its figure
	scale  float64
	reach  float64
	most   bool // at most so much, else at least
}

// text says what is wanted.
func (c *claim) text() string {
	bound := "at least"
	if c.most {
		bound = "at most"
	}
	if c.limit == "" {
		return fmt.Sprintf("%s %s %g %s", c.figure, bound, c.reach, c.unit)
	}
	return fmt.Sprintf("%s %s %g of %s", c.figure, bound, c.reach, c.limit)
}

// reached tells whether a ratio, or a figure without a limit, is as wanted.
func (c *claim) reached(v float64) bool {
	if c.most {
		return v <= c.reach
	}
	return v >= c.reach
}

// rate is a claim of a rate per CPU second.
func rate(unit, limit, metric string, reach float64) []claim {
	return []claim{{figure: unit + "/cpu-s", unit: unit + "/CPU s", limit: limit, metric: metric, scale: 1, reach: reach}}
}

// bound is a claim of a figure that is at most so much.
func bound(figure, unit string, most float64) claim {
	return claim{figure: figure, unit: unit, reach: most, most: true, scale: 1}
}

func probes() []probe {
	const (
		jetstream = "JetStreamPublish/File/inprocess=false/events-per-msg=%d/msgid=true/sync=false/fsync=false"
		websocket = "WebSocketFanout/clients=1000/events-per-msg=1/prepared-corked32/deflate=false"
	)
	return []probe{
		{
			"ingest-none", "1M rows to committed files of level 0, no changelog", 1, ingest("none"),
			rate("rows", "PipelineIngestL0", "rows/cpu-s", 0.6),
		},
		{
			"ingest-input", "the same with a changelog: each row in two files", 1, ingest("input"),
			rate("rows", "PipelineIngestL0", "rows/cpu-s", 0.4),
		},
		{
			"ingest-lookup", "10 commits of 20k upserts on 1M rows, with level files, looked-up changelog and index", 1, ingestLookup,
			rate("rows", "PipelineLookupChangelog/index=batch", "rows/cpu-s", 1.2),
		},
		{
			"compact", "8 sorted runs of 1.25M rows into one, and the commit", 1, compactAll,
			rate("rows", "PipelineCompact8", "rows/cpu-s", 0.6),
		},
		{
			"tail-columns", "1M rows of files to one gRPC subscriber, 100 a message, binary", 1, tailGRPC("columns"),
			rate("events", "PipelineTailGRPC/json=false/batch=100", "events/cpu-s", 0.5),
		},
		{
			"tail-json", "the same as JSON", 1, tailGRPC("json"),
			rate("events", "PipelineTailGRPC/json=true/batch=100", "events/cpu-s", 0.5),
		},
		{
			"fanout-grpc", "a commit of 300k rows of 200 bytes to 100 gRPC subscribers, 100 a message", 1, fanoutGRPC,
			rate("deliveries", "GRPCStream/prepared/batch=100", "events/cpu-s", 0.5),
		},
		{
			"fanout-websocket", "a commit of 2,000 rows to 1,000 WebSocket clients, one a message, JSON", 1, fanoutWebSocket,
			rate("deliveries", websocket, "deliveries/cpu-s", 0.5),
		},
		{
			"jetstream-1", "150k rows to a JetStream stream with ids and fencing, one a message; server in the process", 1, jetStream(1, 150_000),
			rate("events", fmt.Sprintf(jetstream, 1), "events/cpu-s", 0.6),
		},
		{
			"jetstream-100", "1M rows, 100 a message", 1, jetStream(100, 1_000_000),
			rate("events", fmt.Sprintf(jetstream, 100), "events/cpu-s", 0.6),
		},
		{
			"commit", "commits of 10 rows with a changelog, one after the other, synced", 1, commit,
			[]claim{{figure: "p50-ms", unit: "ms", limit: "Disk/publish/commit-7-files+fsync-each", metric: "p50-us", scale: 1e-3, reach: 2, most: true}},
		},
		{
			"commit-growth", "commits of 10 rows after 10 and 5,000 others, and on 10^4 and 10^7 rows", 1, commitGrowth,
			[]claim{bound("snapshots-ratio", "times", 1.3), bound("rows-ratio", "times", 1.3)},
		},
		{
			"latency", "from a durable commit to a gRPC subscriber on this host, writer in the gateway's process", 0, latency(false),
			[]claim{bound("p50-ms", "ms", 3), bound("p99-ms", "ms", 15)},
		},
		{
			"latency-polled", "the same with the writer in another process", 0, latency(true),
			[]claim{bound("p50-ms", "ms", 3), bound("p99-ms", "ms", 15)},
		},
		{
			"memory-writer", "peak resident memory of a writer of 10M rows, above its buffer of 256 MB", 0, memoryWriter,
			[]claim{bound("above-buffer-mb", "MB", 200)},
		},
		{
			"memory-grpc", "memory of the gateway for each idle gRPC stream", 0, memoryGRPC,
			[]claim{bound("stream-kb", "KB", 20)},
		},
		{
			"memory-websocket", "memory of the gateway for each idle WebSocket", 0, memoryWebSocket,
			[]claim{bound("socket-kb", "KB", 15)},
		},
	}
}
