package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/objstore/memstore"
	"sluice/paimon"
)

func TestMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "1GiB")
	limitMemory(700 << 20)
	require.Equal(t, before, debug.SetMemoryLimit(-1), "who sets GOMEMLIMIT knows better")
	t.Setenv("GOMEMLIMIT", "")
	limitMemory(700 << 20)
	require.EqualValues(t, 700<<20, debug.SetMemoryLimit(-1))
}

func TestBudgets(t *testing.T) {
	catalog := paimon.NewCatalog(memstore.New(memstore.Options{}), "wh")
	require.NoError(t, catalog.CreateDatabase(t.Context(), "db"))
	budget := func(name string, options map[string]string) int64 {
		options["bucket"] = "1"
		table, err := catalog.CreateTable(t.Context(), "db."+name, paimon.SchemaSpec{
			Schema:  paimon.ColumnsSpec{Fields: []string{"id BIGINT NOT NULL"}, PK: []string{"id"}},
			Options: options,
		})
		require.NoError(t, err)
		return writerBudget(table)
	}
	plain := budget("plain", map[string]string{})
	require.EqualValues(t, (256+64+160)<<20, plain)
	require.Equal(t, plain+(768<<20), budget("large", map[string]string{"write-buffer-size": "1gb"}))
	require.Equal(t, plain+lookupBytes, budget("lookup", map[string]string{"changelog-producer": "lookup"}))

	c := &config.Config{Feeds: []config.Feed{{Window: 64 << 20}, {Window: 128 << 20}}}
	c.Limits.Connections, c.Limits.ResultBytes = 1024, 16<<20
	require.EqualValues(t, (160+16+20+64+128+2*128)<<20, serverBudget(c))
}
