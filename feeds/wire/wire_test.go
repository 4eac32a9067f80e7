package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"sluice/feeds"
	"sluice/feeds/encode"
	"sluice/feeds/feedtest"
	"sluice/feeds/wire"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read reads a feed to its newest snapshot; each delivery is a message.
func read(t *testing.T, f *feeds.Feed, v feeds.View) []*sluicev1.Frame {
	s, err := f.Subscribe(t.Context(), feeds.Request{Start: &feeds.Start{Mode: feeds.StartEarliest}, Until: feeds.Until{Latest: true}, View: v})
	require.NoError(t, err)
	defer s.Close()
	var frames []*sluicev1.Frame
	var whole []byte
	for {
		d, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		var m sluicev1.SubscribeResponse
		require.NoError(t, proto.Unmarshal(d.Bytes, &m))
		require.Len(t, m.Frames, 1)
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
		require.NoError(t, err)
		require.Equal(t, again, d.Bytes, "the bytes are those that the generated code makes")
		frames = append(frames, m.Frames[0])
		whole = append(whole, d.Bytes...)
	}
	var m sluicev1.SubscribeResponse
	require.NoError(t, proto.Unmarshal(whole, &m))
	require.Len(t, m.Frames, len(frames), "parts end to end are one message")
	return frames
}

func newFeed(t *testing.T, tab feeds.Table) *feeds.Feed {
	h, err := feeds.NewHub(feeds.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	f, err := h.Add("f", tab, nil)
	require.NoError(t, err)
	return f
}

func TestFrames(t *testing.T) {
	s := feedtest.Schema(3, 2)
	tab := feedtest.NewTable(5, s)
	tab.Commit(feedtest.Unit{Partition: "day=1/", Bucket: 2, Rows: feedtest.Rows(s, 10, 4, "x", true)}, feedtest.Unit{Bucket: -2, Rows: feedtest.Rows(s, 20, 3, "y", false)})
	f := newFeed(t, tab)
	for _, v := range []feeds.View{{Encoder: wire.Columns{}}, {Encoder: wire.JSON{}}, {Encoder: wire.JSON{}, MaxRows: 2}, {Encoder: wire.Columns{}, Columns: []string{"a"}}} {
		frames := read(t, f, v)
		sub := frames[0].GetSubscribed()
		require.Equal(t, "f", sub.Feed)
		require.Equal(t, tab.At(1).String(), sub.Cursor)
		require.EqualValues(t, 1, sub.HeadSnapshot)
		require.EqualValues(t, 3, sub.Schema.Id)
		require.Equal(t, []string{"k"}, sub.Schema.PrimaryKey)

		begin := frames[1].GetCommitBegin()
		require.EqualValues(t, 1, begin.Snapshot)
		require.Equal(t, sluicev1.CommitKind_COMMIT_KIND_APPEND, begin.Kind)
		require.Equal(t, sluicev1.Phase_PHASE_CHANGES, begin.Phase)
		require.Equal(t, "test", begin.CommitUser)
		require.False(t, begin.Continued)

		n := 0
		var buckets []int32
		for _, fr := range frames {
			rows := fr.GetRows()
			if rows == nil {
				continue
			}
			require.EqualValues(t, 3, rows.SchemaId)
			buckets = append(buckets, rows.Bucket)
			if rows.Bucket == 2 {
				require.Equal(t, "day=1/", rows.Partition)
				require.Len(t, rows.Kinds, int(rows.Count))
				require.EqualValues(t, rowdata.UpdateBefore, rows.Kinds[0])
			} else {
				require.Empty(t, rows.Kinds, "all are inserts")
			}
			c, err := feeds.ParseCursor(rows.Cursor)
			require.NoError(t, err)
			require.EqualValues(t, 1, c.Snapshot)
			if j := rows.GetJson(); j != nil {
				require.Len(t, j.Rows, int(rows.Count))
				require.True(t, strings.HasPrefix(string(j.Rows[0]), `{"k":`))
			} else {
				cols := columnsOf(sub.Schema, s)
				require.NoError(t, encode.DecodeColumns(must(proto.Marshal(rows.GetColumns())), int(rows.Count), cols))
			}
			n += int(rows.Count)
		}
		require.Equal(t, 7, n)
		require.Contains(t, buckets, int32(-2))
		end := frames[len(frames)-2].GetCommitEnd()
		require.Equal(t, tab.At(2).String(), end.Cursor)
		require.EqualValues(t, 3, end.Rows.Inserts)
		require.EqualValues(t, 2, end.Rows.UpdatesBefore)
		require.Equal(t, tab.At(2).String(), frames[len(frames)-1].GetComplete().Cursor)
	}
}

func columnsOf(m *sluicev1.Schema, s *feeds.Schema) (cols []*rowdata.Vector) {
	for _, f := range m.Fields {
		cols = append(cols, rowdata.NewVector(s.Row.Fields[s.Row.Index(f.Name)].Type, 0))
	}
	return cols
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Frames that a table does not make at will, in every field.
func TestControlFrames(t *testing.T) {
	at := feeds.Cursor{Table: 1, Snapshot: 4, Phase: feeds.Changes}
	mark := int64(77)
	for _, f := range []*feeds.Frame{
		{Kind: feeds.FrameProgress, At: at, Head: 3, Oldest: 2, Time: time.Unix(5, 0)},
		{Kind: feeds.FrameReconnect, At: at, Spread: 1500 * time.Millisecond},
		{Kind: feeds.FrameSchemaChange, At: at, PreviousSchema: 2, Schema: feedtest.Schema(3, 1)},
		{Kind: feeds.FrameCommitBegin, At: at, Schema: feedtest.Schema(3, 1), Continued: true, Commit: &feeds.Commit{Snapshot: 4, Kind: "NEW", Phase: feeds.Image, Watermark: &mark}},
	} {
		b, err := wire.Columns{}.Append(nil, &feeds.Event{Frame: f, Schema: f.Schema})
		require.NoError(t, err)
		var m sluicev1.SubscribeResponse
		require.NoError(t, proto.Unmarshal(b, &m))
		switch got := m.Frames[0].Frame.(type) {
		case *sluicev1.Frame_Progress:
			require.True(t, proto.Equal(&sluicev1.Progress{Cursor: at.String(), HeadSnapshot: 3, OldestSnapshot: 2, Time: got.Progress.Time}, got.Progress))
			require.EqualValues(t, 5, got.Progress.Time.Seconds)
		case *sluicev1.Frame_Reconnect:
			require.EqualValues(t, 1500, got.Reconnect.SpreadMillis)
		case *sluicev1.Frame_SchemaChange:
			require.EqualValues(t, 2, got.SchemaChange.PreviousId)
			require.Len(t, got.SchemaChange.Schema.Fields, 2)
		case *sluicev1.Frame_CommitBegin:
			require.True(t, got.CommitBegin.Continued)
			require.Nil(t, got.CommitBegin.Time)
			require.Equal(t, sluicev1.CommitKind_COMMIT_KIND_UNSPECIFIED, got.CommitBegin.Kind, "a kind that is not known here")
			require.Equal(t, sluicev1.Phase_PHASE_IMAGE, got.CommitBegin.Phase)
			require.EqualValues(t, 77, got.CommitBegin.GetWatermarkMillis())
		}
	}
	_, err := wire.JSON{}.Append(nil, &feeds.Event{Frame: &feeds.Frame{Kind: 99}})
	require.Error(t, err)
}

// Types have the same number in rowdata and on the wire.
func TestTypeRoots(t *testing.T) {
	for _, text := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(3, 1)", "CHAR(2)", "VARCHAR(2)", "BINARY(2)", "VARBINARY(2)",
		"DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "VARIANT", "BLOB", "ARRAY<INT>", "MULTISET<INT>", "MAP<INT, STRING>", "ROW<a INT NOT NULL>",
	} {
		typ, err := rowdata.ParseType(text)
		require.NoError(t, err, text)
		m := wire.Schema(&feeds.Schema{Row: &rowdata.RowType{Fields: []rowdata.Field{{Name: "x", Type: typ}}}}).Fields[0].Type
		name := strings.TrimPrefix(m.Root.String(), "TYPE_ROOT_")
		want, _, _ := strings.Cut(text, "(")
		want, _, _ = strings.Cut(want, "<")
		if strings.Contains(text, "LOCAL") {
			want = "TIMESTAMP_LTZ"
		}
		require.Equal(t, want, name)
		require.Equal(t, typ.String(), m.Text)
		require.Equal(t, typ.Key != nil, m.Key != nil)
		require.Equal(t, typ.Elem != nil, m.Element != nil)
		require.Len(t, m.Fields, len(typ.Fields))
	}
	require.EqualValues(t, rowdata.Vec, sluicev1.TypeRoot_TYPE_ROOT_VECTOR)
	require.Nil(t, wire.Schema(nil))
}

// Any number of rows of any size gets right lengths.
func TestLengths(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		n := rapid.SampledFrom([]int{1, 2, 50, 64, 200}).Draw(rt, "rows")
		size := rapid.SampledFrom([]int{0, 1, 100, 300, 20_000}).Draw(rt, "size")
		tag := strings.Repeat("z", min(size, 400_000/n))
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, n, tag, rapid.Bool().Draw(rt, "updates"))})
		f := newFeed(t, tab)
		for _, enc := range []feeds.Encoder{wire.Columns{}, wire.JSON{}} {
			rows := 0
			for _, fr := range read(t, f, feeds.View{Encoder: enc}) {
				rows += int(fr.GetRows().GetCount())
			}
			require.Equal(rt, n, rows)
		}
	})
}
