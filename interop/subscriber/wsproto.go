package subscriber

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"sluice/client"
	"sluice/feeds/encode"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

// protoState is what the frames of a connection say for those that follow.
type protoState struct {
	cursor string
	commit Commit
	schema *rowdata.RowType
	id     int64
}

// events appends the events of a binary message.
func (p *protoState) events(dst []Event, data []byte) ([]Event, error) {
	var m sluicev1.SubscribeResponse
	if err := proto.Unmarshal(data, &m); err != nil {
		return dst, err
	}
	for _, f := range m.GetFrames() {
		var err error
		if dst, err = p.frame(dst, f); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (p *protoState) frame(dst []Event, f *sluicev1.Frame) ([]Event, error) {
	var e Event
	switch m := f.GetFrame().(type) {
	case *sluicev1.Frame_Subscribed:
		s := m.Subscribed
		e = Event{Type: Subscribed, Cursor: s.GetCursor(), Head: s.GetHeadSnapshot(), Oldest: s.GetOldestSnapshot()}
		return p.columns(dst, e, s.GetSchema())
	case *sluicev1.Frame_SchemaChange:
		return p.columns(dst, Event{Type: Schema, Cursor: p.cursor}, m.SchemaChange.GetSchema())
	case *sluicev1.Frame_CommitBegin:
		c := m.CommitBegin
		p.commit = Commit{
			Snapshot: c.GetSnapshot(), Image: c.GetPhase() == sluicev1.Phase_PHASE_IMAGE, Millis: c.GetTime().AsTime().UnixMilli(),
			Kind: strings.TrimPrefix(c.GetKind().String(), "COMMIT_KIND_"), SchemaID: c.GetSchemaId(),
		}
		e = Event{Type: Begin, Cursor: c.GetCursor(), Commit: p.commit, Continued: c.GetContinued()}
	case *sluicev1.Frame_Rows:
		return p.rows(dst, m.Rows)
	case *sluicev1.Frame_CommitEnd:
		c, n := m.CommitEnd, m.CommitEnd.GetRows()
		if c.GetSnapshot() != p.commit.Snapshot {
			return dst, fmt.Errorf("end of snapshot %d in snapshot %d", c.GetSnapshot(), p.commit.Snapshot)
		}
		e = Event{
			Type: End, Cursor: c.GetCursor(), Commit: p.commit,
			Counts: Counts{n.GetInserts(), n.GetUpdatesBefore(), n.GetUpdatesAfter(), n.GetDeletes()},
		}
	case *sluicev1.Frame_Progress:
		e = Event{Type: Progress, Cursor: m.Progress.GetCursor(), Head: m.Progress.GetHeadSnapshot(), Oldest: m.Progress.GetOldestSnapshot()}
	case *sluicev1.Frame_Complete:
		e = Event{Type: Complete, Cursor: m.Complete.GetCursor()}
	case *sluicev1.Frame_Reconnect:
		e = Event{Type: Reconnect, Cursor: m.Reconnect.GetCursor()}
	default:
		return dst, fmt.Errorf("frame %v", f)
	}
	p.cursor = e.Cursor
	return append(dst, e), nil
}

// columns takes note of the schema of the rows that follow.
func (p *protoState) columns(dst []Event, e Event, s *sluicev1.Schema) ([]Event, error) {
	p.cursor = e.Cursor
	if s == nil {
		return append(dst, e), nil
	}
	p.schema, p.id = &rowdata.RowType{}, s.GetId()
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", s.GetId())
	for _, f := range s.GetFields() {
		t, err := rowdata.ParseType(f.GetType().GetText())
		if err != nil {
			return dst, err
		}
		p.schema.Fields = append(p.schema.Fields, rowdata.Field{ID: int(f.GetId()), Name: f.GetName(), Type: t})
		fmt.Fprintf(&b, " %d %s %s,", f.GetId(), f.GetName(), f.GetType().GetText())
	}
	fmt.Fprintf(&b, " key %v, partitions %v", s.GetPrimaryKey(), s.GetPartitionKey())
	e.Columns = b.String()
	return append(dst, e), nil
}

func (p *protoState) rows(dst []Event, m *sluicev1.Rows) ([]Event, error) {
	n := int(m.GetCount())
	if m.GetSnapshot() != p.commit.Snapshot || n == 0 || m.GetSchemaId() != p.id {
		return dst, fmt.Errorf("%d rows of snapshot %d, schema %d in snapshot %d, schema %d", n, m.GetSnapshot(), m.GetSchemaId(), p.commit.Snapshot, p.id)
	}
	raw, err := proto.Marshal(m.GetColumns())
	if err != nil {
		return dst, err
	}
	b := rowdata.NewBatch(p.schema, n)
	if err := encode.DecodeColumns(raw, n, b.Cols); err != nil {
		return dst, err
	}
	b.N = n
	for i := range n {
		kind := kinds[0]
		if k := m.GetKinds(); len(k) > 0 {
			kind = kinds[k[i]&3]
		}
		p.cursor = client.Advance(m.GetCursor(), uint64(i+1))
		dst = append(dst, Event{Type: Row, Cursor: p.cursor, Commit: p.commit, Change: Change{
			Snapshot: m.GetSnapshot(), Image: p.commit.Image, SchemaID: m.GetSchemaId(), Partition: m.GetPartition(), Bucket: m.GetBucket(),
			Kind: kind, Row: string(rowdata.AppendJSONObject(nil, b, i)), At: client.Advance(m.GetCursor(), uint64(i)),
		}})
	}
	return dst, nil
}
