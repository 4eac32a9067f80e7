package main

import (
	"context"
	"slices"
)

const million = 1_000_000

// work is a work of the definition.
type work struct {
	name    string
	prepare func(context.Context, *home) error // makes or finds the tables, may be nil
	run     func(ctx context.Context, h *home, verify bool) (*result, error)
}

// works are those that this project can do, with the numbers of their definition.
func works() []work {
	return []work{
		{"generate", nil, generate},
		{"ingest-none", nil, ingest{producer: "none"}.run},
		{"ingest-input", nil, ingest{producer: "input"}.run},
		{"ingest-lookup", lookups(1, false).prepare, lookups(1, false).run},
		{"ingest-lookup-zipf", lookups(1, true).prepare, lookups(1, true).run},
		{"ingest-lookup-10m", lookups(10, false).prepare, lookups(10, false).run},
		{"ingest-lookup-10m-zipf", lookups(10, true).prepare, lookups(10, true).run},
		{"ingest-lookup-1k-commits", smallCommits().prepare, smallCommits().run},
		{"ingest-lookup-2-buckets", twoBuckets().prepare, twoBuckets().run},
		{"restart-1m", restart{1}.prepare, restart{1}.run},
		{"restart-10m", restart{10}.prepare, restart{10}.run},
		{"ingest-full-compaction-1", fullCompaction(1).prepare, fullCompaction(1).run},
		{"ingest-full-compaction-10", fullCompaction(10).prepare, fullCompaction(10).run},
		{"ingest-partial-update", partialUpdate().prepare, partialUpdate().run},
		{"ingest-aggregation", aggregation().prepare, aggregation().run},
		{"compact", scan{}.prepare, compact},
		{"point-hit", points{hits: true}.prepare, points{hits: true}.run},
		{"point-miss", points{}.prepare, points{}.run},
		{"tail", prepareTail, tail},
		{"scan-runs", scan{}.prepare, scan{}.run},
		{"scan-compacted", scan{compacted: true}.prepare, scan{compacted: true}.run},
		{"poll", nil, poll},
		{"commit-10k-write-only", growth{keys: 10_000}.prepare, growth{keys: 10_000}.run},
		{"commit-1m-write-only", growth{keys: million}.prepare, growth{keys: million}.run},
	}
}

func workNames() (names []string) {
	for _, w := range works() {
		names = append(names, w.name)
	}
	return names
}

// workOf returns the work of that name, or nil.
func workOf(name string) *work {
	all := works()
	i := slices.IndexFunc(all, func(w work) bool { return w.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}
