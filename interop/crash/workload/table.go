package workload

import (
	"maps"

	"sluice/paimon"
)

// Names of the table and of who commits to it.
const (
	TableName = "db.t"
	Writer    = "writer"
	Compactor = "compactor"
	Source    = "commits" // its position is the number of commits
)

// Kind is a kind of table.
type Kind struct {
	Name    string
	Engine  paimon.MergeEngine
	Deletes bool // rows are deleted, too
	Apart   bool // the writer does not compact, another process does
	options map[string]string
}

// Kinds returns all kinds.
func Kinds() []Kind {
	lookup := func(more ...string) map[string]string {
		return options(append([]string{"changelog-producer", "lookup"}, more...)...)
	}
	return []Kind{
		{Name: "deduplicate, lookup", Engine: paimon.Deduplicate, Deletes: true, options: lookup()},
		{Name: "partial-update, lookup", Engine: paimon.PartialUpdate, Deletes: true, options: lookup("partial-update.remove-record-on-delete", "true")},
		{Name: "full-compaction, now and then", Engine: paimon.Deduplicate, Deletes: true, options: options("changelog-producer", "full-compaction", "full-compaction.delta-commits", "2")},
		{Name: "first-row, lookup", Engine: paimon.FirstRow, options: lookup()},
		{Name: "aggregation, lookup", Engine: paimon.Aggregation, options: lookup("fields.a.aggregate-function", "sum", "fields.b.aggregate-function", "last_non_null_value", "fields.text.aggregate-function", "last_value")},
		{Name: "deduplicate, lookup beside writing", Engine: paimon.Deduplicate, Deletes: true, options: lookup("lookup-wait", "false")},
		{Name: "deduplicate, lookup, small files", Engine: paimon.Deduplicate, Deletes: true, options: lookup("target-file-size", "2 kb", "num-sorted-run.compaction-trigger", "2")},
		{Name: "aggregation, lookup beside writing", Engine: paimon.Aggregation, options: lookup("lookup-wait", "false", "fields.a.aggregate-function", "sum", "fields.b.aggregate-function", "last_non_null_value", "fields.text.aggregate-function", "last_value")},
		{Name: "deduplicate, lookup, compactor apart", Engine: paimon.Deduplicate, Deletes: true, Apart: true, options: lookup("write-only", "true")},
		{Name: "full-compaction, compactor apart", Engine: paimon.Deduplicate, Deletes: true, Apart: true, options: options("changelog-producer", "full-compaction", "write-only", "true")},
	}
}

func options(pairs ...string) map[string]string {
	o := map[string]string{
		"bucket": "2", "manifest.merge-min-count": "3", "num-sorted-run.compaction-trigger": "3",
		"write-buffer-size": "16 kb", "write-buffer-spillable": "false",
	}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i]] = pairs[i+1]
	}
	return o
}

// Spec returns how the table is made.
func (k *Kind) Spec() paimon.SchemaSpec {
	o := maps.Clone(k.options)
	o["merge-engine"] = string(k.Engine)
	return paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "a INT", "b INT", "text STRING"}, PK: []string{"k"}},
		Options: o,
	}
}
