package wire

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/feeds"
	"sluice/feeds/encode"
	sluicev1 "sluice/proto/sluice/v1"
)

// Columns encodes rows in columns.
type Columns struct{}

// JSON encodes rows as JSON objects.
type JSON struct{}

// Both are encoders.
var (
	_ feeds.Encoder = Columns{}
	_ feeds.Encoder = JSON{}
)

// Name implements [feeds.Encoder].
func (Columns) Name() string { return "columns" }

// Name implements [feeds.Encoder].
func (JSON) Name() string { return "json" }

// Append implements [feeds.Encoder].
func (Columns) Append(dst []byte, e *feeds.Event) ([]byte, error) {
	if e.Kind != feeds.FrameRows {
		return appendControl(dst, e)
	}
	return appendColumns(dst, e), nil
}

// Append implements [feeds.Encoder].
func (JSON) Append(dst []byte, e *feeds.Event) ([]byte, error) {
	if e.Kind != feeds.FrameRows {
		return appendControl(dst, e)
	}
	return appendJSON(dst, e), nil
}

// Fields of the messages that are encoded by hand.
const (
	responseFrames = 1

	frameRows = 3

	rowsCursor    = 1
	rowsSnapshot  = 2
	rowsSchema    = 3
	rowsPartition = 4
	rowsBucket    = 5
	rowsCount     = 6
	rowsKinds     = 7
	rowsColumns   = 8
	rowsJSON      = 9
)

// appendColumns appends a frame of rows in columns. All sizes are known before.
func appendColumns(dst []byte, e *feeds.Event) []byte {
	var room [128]byte
	head := appendHead(room[:0], e)
	content := encode.ColumnsSize(e.Cols, e.From, e.To)
	rows := len(head) + protowire.SizeTag(rowsColumns) + protowire.SizeBytes(content)
	frame := protowire.SizeTag(frameRows) + protowire.SizeBytes(rows)

	dst = appendLen(dst, responseFrames, frame)
	dst = appendLen(dst, frameRows, rows)
	dst = append(dst, head...)
	dst = appendLen(dst, rowsColumns, content)
	return encode.AppendColumns(dst, e.Cols, e.From, e.To)
}

// appendJSON appends a frame of rows as JSON. Sizes are guessed to take 3 bytes,
// which is right from 16 KB to 2 MB.
func appendJSON(dst []byte, e *feeds.Event) []byte {
	guess := 3
	if e.To-e.From < 64 {
		guess = 2
	}
	dst = protowire.AppendTag(dst, responseFrames, protowire.BytesType)
	frame := len(dst)
	dst = encode.Reserve(dst, guess)
	dst = protowire.AppendTag(dst, frameRows, protowire.BytesType)
	rows := len(dst)
	dst = encode.Reserve(dst, guess)
	dst = appendHead(dst, e)
	dst = protowire.AppendTag(dst, rowsJSON, protowire.BytesType)
	content := len(dst)
	dst = encode.Reserve(dst, guess)
	dst = encode.AppendJSONRows(dst, e.Schema.JSON(), e.Cols, e.From, e.To)
	dst, _ = encode.Fill(dst, content, guess)
	dst, _ = encode.Fill(dst, rows, guess)
	dst, _ = encode.Fill(dst, frame, guess)
	return dst
}

// appendLen appends the tag and the length of a field of bytes.
func appendLen(dst []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.BytesType), uint64(size))
}

// appendHead appends the fields of message Rows before the payload.
func appendHead(dst []byte, e *feeds.Event) []byte {
	number := func(field protowire.Number, v int64) {
		if v != 0 {
			dst = protowire.AppendTag(dst, field, protowire.VarintType)
			dst = protowire.AppendVarint(dst, uint64(v))
		}
	}
	var room [80]byte
	cursor, _ := e.At.After(e.From).AppendText(room[:0]) // it never fails
	dst = append(appendLen(dst, rowsCursor, len(cursor)), cursor...)
	number(rowsSnapshot, e.Commit.Snapshot)
	number(rowsSchema, e.Schema.ID)
	if e.Partition != "" {
		dst = append(appendLen(dst, rowsPartition, len(e.Partition)), e.Partition...)
	}
	number(rowsBucket, int64(e.Bucket))
	number(rowsCount, int64(e.To-e.From))
	if kinds := e.Rows.Kinds; kinds != nil {
		kinds = kinds[e.From:e.To]
		inserts := true
		for _, k := range kinds {
			if k != 0 {
				inserts = false
				break
			}
		}
		if !inserts {
			dst = appendLen(dst, rowsKinds, len(kinds))
			for _, k := range kinds {
				dst = append(dst, byte(k))
			}
		}
	}
	return dst
}

// appendControl appends a frame without rows.
func appendControl(dst []byte, e *feeds.Event) ([]byte, error) {
	f := Frame(e)
	if f == nil {
		return dst, fmt.Errorf("frame of kind %d has no form on the wire", e.Kind)
	}
	dst = appendLen(dst, responseFrames, proto.Size(f))
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(dst, f)
}

// Frame returns the message of a frame without rows, nil for other kinds.
func Frame(e *feeds.Event) *sluicev1.Frame {
	switch e.Kind {
	case feeds.FrameSubscribed:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_Subscribed{Subscribed: &sluicev1.Subscribed{
			Feed: e.Feed, Cursor: e.At.String(), Schema: Schema(e.Schema), HeadSnapshot: e.Head, OldestSnapshot: e.Oldest,
		}}}
	case feeds.FrameSchemaChange:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_SchemaChange{SchemaChange: &sluicev1.SchemaChange{
			PreviousId: e.PreviousSchema, Schema: Schema(e.Schema),
		}}}
	case feeds.FrameCommitBegin:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_CommitBegin{CommitBegin: commitBegin(e)}}
	case feeds.FrameCommitEnd:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_CommitEnd{CommitEnd: &sluicev1.CommitEnd{
			Snapshot: e.Commit.Snapshot, Cursor: e.Next.String(),
			Rows: &sluicev1.RowCounts{Inserts: e.Counts[0], UpdatesBefore: e.Counts[1], UpdatesAfter: e.Counts[2], Deletes: e.Counts[3]},
		}}}
	case feeds.FrameProgress:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_Progress{Progress: &sluicev1.Progress{
			Cursor: e.At.String(), HeadSnapshot: e.Head, OldestSnapshot: e.Oldest, Time: stamp(e.Time),
		}}}
	case feeds.FrameComplete:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_Complete{Complete: &sluicev1.Complete{Cursor: e.At.String()}}}
	case feeds.FrameReconnect:
		return &sluicev1.Frame{Frame: &sluicev1.Frame_Reconnect{Reconnect: &sluicev1.Reconnect{
			Cursor: e.At.String(), SpreadMillis: e.Spread.Milliseconds(),
		}}}
	}
	return nil
}

func commitBegin(e *feeds.Event) *sluicev1.CommitBegin {
	c := e.Commit
	phase := sluicev1.Phase_PHASE_CHANGES
	if c.Phase == feeds.Image {
		phase = sluicev1.Phase_PHASE_IMAGE
	}
	return &sluicev1.CommitBegin{
		Snapshot: c.Snapshot, Time: stamp(c.Time), Kind: sluicev1.CommitKind(sluicev1.CommitKind_value["COMMIT_KIND_"+c.Kind]),
		SchemaId: e.Schema.ID, Phase: phase, Continued: e.Continued, Cursor: e.At.String(),
		CommitUser: c.User, CommitIdentifier: c.Identifier, WatermarkMillis: c.Watermark,
	}
}

// stamp returns nil for the zero time.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
