package paimon

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentedRefusals are the definitions whose refusal the conformance cases
// quote.
func TestDocumentedRefusals(t *testing.T) {
	for _, c := range []struct {
		name, text string
		option     string
		fields     []string
		pk         []string
		options    map[string]string
	}{
		{
			"aggregate without group", "Must use sequence group for aggregation functions but not found for field a.", "fields.a.aggregate-function",
			[]string{"k INT NOT NULL", "a INT"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "merge-engine": "partial-update", "fields.a.aggregate-function": "sum"},
		},
		{
			"remove on delete and ignore delete", "have conflicting behavior so should not be enabled at the same time", "partial-update.remove-record-on-delete",
			[]string{"k INT NOT NULL", "a STRING", "b STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "ignore-delete": "true"},
		},
		{
			"remove on delete and group", "sequence-group and partial-update.remove-record-on-delete have conflicting behavior", "partial-update.remove-record-on-delete",
			[]string{"k INT NOT NULL", "a STRING", "g_1 INT", "b STRING", "g_2 INT"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "fields.g_1.sequence-group": "a"},
		},
		{
			"remove on group and ignore delete", "have conflicting behavior so should not be enabled at the same time", "partial-update.remove-record-on-sequence-group",
			[]string{"k INT NOT NULL", "a STRING", "g INT"},
			[]string{"k"},
			map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-sequence-group": "g", "fields.g.sequence-group": "a", "ignore-delete": "true"},
		},
		{
			"aggregate of sequence field", "Should not define aggregation on sequence field: 's'.", "sequence.field",
			[]string{"k INT NOT NULL", "v STRING", "s INT"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "merge-engine": "aggregation", "fields.s.aggregate-function": "sum", "sequence.field": "s"},
		},
		{
			"first-row with input", "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine", "merge-engine",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "input", "merge-engine": "first-row"},
		},
		{
			"first-row with full-compaction", "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine", "merge-engine",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "full-compaction", "merge-engine": "first-row"},
		},
		{
			"first-row with deletion vectors", "First row merge engine does not need deletion vectors", "deletion-vectors.enabled",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "merge-engine": "first-row", "deletion-vectors.enabled": "true"},
		},
		{
			"first-row with sequence field", "Do not support use sequence field on FIRST_ROW merge engine.", "sequence.field",
			[]string{"k INT NOT NULL", "s INT"},
			[]string{"k"},
			map[string]string{"merge-engine": "first-row", "sequence.field": "s"},
		},
		{
			"deletion vectors with full-compaction", "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP changelog producer now.", "deletion-vectors.enabled",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "full-compaction", "deletion-vectors.enabled": "true"},
		},
		{
			"overwrite read with lookup", "because it will read duplicated changes", "streaming-read-overwrite",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "streaming-read-overwrite": "true"},
		},
		{
			"overwrite read with full-compaction", "because it will read duplicated changes", "streaming-read-overwrite",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "full-compaction", "streaming-read-overwrite": "true"},
		},
		{
			"delta commits with lookup", "'full-compaction.delta-commits' is incompatible with 'changelog-producer'='lookup'", "full-compaction.delta-commits",
			[]string{"k INT NOT NULL", "v STRING"},
			[]string{"k"},
			map[string]string{"changelog-producer": "lookup", "full-compaction.delta-commits": "3"},
		},
		{
			"producer without key", "Can not set changelog-producer on table without primary keys", "changelog-producer",
			[]string{"k INT", "v STRING"},
			nil,
			map[string]string{"changelog-producer": "lookup", "bucket": "-1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := c.options["bucket"]; !ok {
				c.options["bucket"] = "1"
			}
			_, err := NewSchema(SchemaSpec{Schema: ColumnsSpec{Fields: c.fields, PK: c.pk}, Options: c.options}, 0)
			require.ErrorContains(t, err, c.text)
			var ve *ValidationError
			require.ErrorAs(t, err, &ve)
			require.Equal(t, c.option, ve.Option)
			require.NotEmpty(t, ve.Reason)
		})
	}
}

// TestEnginesAndProducers is the table of semantics section 3.6.
func TestEnginesAndProducers(t *testing.T) {
	for _, c := range []struct {
		what    string
		options map[string]string
		allowed string // by producer: none, input, lookup, full-compaction
	}{
		{"deduplicate", nil, "yyyy"},
		{"partial-update", map[string]string{OptMergeEngine: "partial-update"}, "yyyy"},
		{"aggregation", map[string]string{OptMergeEngine: "aggregation"}, "yyyy"},
		{"first-row", map[string]string{OptMergeEngine: "first-row"}, "y-y-"},
		{"deletion vectors", map[string]string{OptDeletionVectorsEnabled: "true"}, "yyy-"},
		{"clustering override", map[string]string{OptPKClusteringOverride: "true", OptClusteringColumns: "v", OptDeletionVectorsEnabled: "true"}, "yy--"},
		{"overwrite read", map[string]string{OptStreamingReadOverwrite: "true"}, "yy--"},
		{"delta commits", map[string]string{OptFullCompactionDeltaCommits: "1"}, "yy-y"},
		{"chain table", map[string]string{OptChainTable: "true", OptSequenceField: "v", OptPartitionTimestampPattern: "$p", OptPartitionTimestampFormatter: "yyyy"}, "yy--"},
		{"no key", nil, "y---"},
	} {
		for i, p := range []ChangelogProducer{ProducerNone, ProducerInput, ProducerLookup, ProducerFullCompaction} {
			spec := SchemaSpec{
				Schema:  ColumnsSpec{Fields: []string{"k INT", "p INT", "v INT"}, PK: []string{"k", "p"}, Partition: []string{"p"}},
				Options: map[string]string{OptBucket: "1", OptChangelogProducer: string(p)},
			}
			if c.what == "no key" {
				spec.Schema.PK, spec.Options[OptBucket] = nil, "-1"
			}
			for k, v := range c.options {
				spec.Options[k] = v
			}
			_, err := NewSchema(spec, 0)
			require.Equal(t, c.allowed[i] == 'y', err == nil, "%s with %s: %v", c.what, p, err)
		}
	}
}
