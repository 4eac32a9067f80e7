package main

import (
	"os"
	"runtime/debug"

	"sluice/internal/config"
	"sluice/paimon"
)

// The process asks the garbage collector to keep within what its parts may hold
// together, rather than to let garbage grow to the size of full buffers. Who sets
// GOMEMLIMIT knows better.
const (
	// baseBytes is for what has no budget of its own: manifests, files being
	// encoded or read, and garbage.
	baseBytes = 160 << 20
	// lookupBytes is what the indexes of earlier rows take by default, and
	// queueBytes the rows on their way into write buffers.
	lookupBytes = 64 << 20
	queueBytes  = 64 << 20
	// readerBytes is what a subscription that reads files itself takes, and
	// readersMax how many of a feed do; subscriptionBytes is for all others.
	readerBytes       = 512 << 10
	readersMax        = 256
	subscriptionBytes = 20 << 10
)

// limitMemory makes budget the soft limit of the process' memory, unless the
// environment has one.
func limitMemory(budget int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(budget)
	}
}

// writerBudget is what writing a table may take.
func writerBudget(t *paimon.Table) int64 {
	s := t.Schema()
	buffer, _ := s.Options.Memory(paimon.OptWriteBufferSize) // the writer says what is wrong with it
	budget := baseBytes + queueBytes + buffer
	if s.ChangelogProducer() == paimon.ProducerLookup {
		budget += lookupBytes
	}
	return budget
}

// serverBudget is what serving may take.
func serverBudget(c *config.Config) int64 {
	budget := int64(baseBytes) + int64(c.Limits.ResultBytes) + int64(c.Limits.Connections)*subscriptionBytes
	for i := range c.Feeds {
		budget += int64(c.Feeds[i].Window) + readersMax*readerBytes
	}
	return budget
}
