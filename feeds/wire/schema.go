package wire

import (
	"sluice/feeds"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

// Schema returns the message of a schema, nil for nil.
func Schema(s *feeds.Schema) *sluicev1.Schema {
	if s == nil {
		return nil
	}
	return &sluicev1.Schema{Id: s.ID, Fields: fields(s.Row.Fields), PrimaryKey: s.PrimaryKey, PartitionKey: s.PartitionKey}
}

func fields(in []rowdata.Field) []*sluicev1.Field {
	out := make([]*sluicev1.Field, len(in))
	for i, f := range in {
		out[i] = &sluicev1.Field{Id: int32(f.ID), Name: f.Name, Type: typeOf(f.Type), Description: f.Description}
	}
	return out
}

// typeOf returns the message of a type. Numbers of families are those of rowdata,
// which a test checks by name.
func typeOf(t *rowdata.Type) *sluicev1.Type {
	if t == nil {
		return nil
	}
	out := &sluicev1.Type{
		Root: sluicev1.TypeRoot(t.Root), NotNull: t.NotNull, Length: int32(t.Length), Precision: int32(t.Precision), Scale: int32(t.Scale),
		Key: typeOf(t.Key), Element: typeOf(t.Elem), Text: t.String(),
	}
	if t.Root == rowdata.Row {
		out.Fields = fields(t.Fields)
	}
	return out
}
