package grpcfeed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/feeds/grpcfeed"
	sluicev1 "sluice/proto/sluice/v1"
)

type gateway struct {
	hub    *feeds.Hub
	srv    *grpcfeed.Server
	conn   *grpc.ClientConn
	feeds  sluicev1.FeedServiceClient
	tables sluicev1.TableServiceClient
}

func serve(t testing.TB, o feeds.Options, so grpcfeed.Options, tabs ...feeds.Table) *gateway {
	hub, err := feeds.NewHub(o)
	require.NoError(t, err)
	for i, tab := range tabs {
		_, err := hub.Add(string(rune('f'+i)), tab, feeds.NewMemory())
		require.NoError(t, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := grpcfeed.New(hub, so)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		require.NoError(t, <-served)
		require.NoError(t, hub.Close())
	})
	return &gateway{hub, srv, conn, sluicev1.NewFeedServiceClient(conn), sluicev1.NewTableServiceClient(conn)}
}

func table(commits, rows int) *feedtest.Table {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(9, s)
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(100*i), rows, "x", false)})
	}
	return tab
}

func earliest() *sluicev1.Start {
	return &sluicev1.Start{At: &sluicev1.Start_Earliest{Earliest: &sluicev1.Earliest{}}}
}

func untilLatest() *sluicev1.Until {
	return &sluicev1.Until{At: &sluicev1.Until_Latest{Latest: &sluicev1.Latest{}}}
}

// stream reads a call to its end and returns its messages.
func (g *gateway) stream(t testing.TB, req *sluicev1.SubscribeRequest) []*sluicev1.SubscribeResponse {
	st, err := g.feeds.Subscribe(t.Context(), req)
	require.NoError(t, err)
	var all []*sluicev1.SubscribeResponse
	for {
		m, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, m)
	}
}

func countRows(m *sluicev1.SubscribeResponse) (n int) {
	for _, f := range m.Frames {
		n += int(f.GetRows().GetCount())
	}
	return n
}

func TestSubscribe(t *testing.T) {
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, table(5, 10))
	for _, format := range []sluicev1.Format{sluicev1.Format_FORMAT_UNSPECIFIED, sluicev1.Format_FORMAT_COLUMNS, sluicev1.Format_FORMAT_JSON} {
		for _, max := range []uint32{0, 1, 7, 10, 25} {
			total := 0
			for _, m := range g.stream(t, &sluicev1.SubscribeRequest{Feed: "f", Start: earliest(), Until: untilLatest(), Format: format, Limits: &sluicev1.Limits{MaxRows: max}}) {
				n := countRows(m)
				if max > 0 {
					require.LessOrEqual(t, n, int(max))
				}
				for _, f := range m.Frames {
					if r := f.GetRows(); r != nil {
						require.Equal(t, format == sluicev1.Format_FORMAT_JSON, r.GetJson() != nil)
					}
				}
				total += n
			}
			require.Equal(t, 50, total)
		}
	}
	st, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f"})
	require.NoError(t, err)
	m, err := st.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 5, m.Frames[0].GetSubscribed().HeadSnapshot, "sent at once, though there is nothing to read")
}

// No message is larger than 1 MB, but for one with a single row that is.
func TestMessageSize(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	for _, size := range []int{1, 50_000, 300_000, 1_100_000, 10} {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 6, strings.Repeat("x", size), true)})
	}
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, tab)
	for _, format := range []sluicev1.Format{sluicev1.Format_FORMAT_COLUMNS, sluicev1.Format_FORMAT_JSON} {
		total, large := 0, 0
		for _, m := range g.stream(t, &sluicev1.SubscribeRequest{Feed: "f", Start: earliest(), Until: untilLatest(), Format: format, Limits: &sluicev1.Limits{MaxBytes: 10 << 20}}) {
			n := countRows(m)
			if proto.Size(m) > 1<<20 {
				require.Equal(t, 1, n)
				large++
			}
			total += n
		}
		require.Equal(t, 30, total)
		require.Equal(t, 6, large)
	}
}

func TestRequests(t *testing.T) {
	tab := table(3, 1)
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, tab)
	for name, tc := range map[string]struct {
		change func(*sluicev1.SubscribeRequest)
		field  string
	}{
		"empty start": {func(r *sluicev1.SubscribeRequest) { r.Start = &sluicev1.Start{} }, "start"},
		"snapshot 0":  {func(r *sluicev1.SubscribeRequest) { r.Start = &sluicev1.Start{At: &sluicev1.Start_Snapshot{}} }, "start.snapshot"},
		"bad time": {func(r *sluicev1.SubscribeRequest) {
			r.Start = &sluicev1.Start{At: &sluicev1.Start_Time{Time: &timestamppb.Timestamp{Nanos: -1}}}
		}, "start.time"},
		"empty until":         {func(r *sluicev1.SubscribeRequest) { r.Until = &sluicev1.Until{} }, "until"},
		"until 0":             {func(r *sluicev1.SubscribeRequest) { r.Until = &sluicev1.Until{At: &sluicev1.Until_Snapshot{}} }, "until.snapshot"},
		"format":              {func(r *sluicev1.SubscribeRequest) { r.Format = 77 }, "format"},
		"rows":                {func(r *sluicev1.SubscribeRequest) { r.Limits.MaxRows = 1 << 30 }, "limits.max_rows"},
		"linger":              {func(r *sluicev1.SubscribeRequest) { r.Limits.Linger = durationpb.New(time.Hour) }, "limits.linger"},
		"less than no linger": {func(r *sluicev1.SubscribeRequest) { r.Limits.Linger = durationpb.New(-1) }, "limits.linger"},
		"column":              {func(r *sluicev1.SubscribeRequest) { r.Columns = []string{"nope"} }, "columns"},
	} {
		r := &sluicev1.SubscribeRequest{Feed: "f", Limits: &sluicev1.Limits{}}
		tc.change(r)
		st, err := g.feeds.Subscribe(t.Context(), r)
		require.NoError(t, err)
		_, err = st.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), name)
		info, bad := details(err)
		require.Equal(t, "REQUEST_INVALID", info.GetReason(), name)
		require.Equal(t, "sluice", info.GetDomain())
		require.Equal(t, tc.field, bad.GetFieldViolations()[0].GetField(), name)
	}
	for name, start := range map[string]*sluicev1.Start{
		"snapshot": {At: &sluicev1.Start_Snapshot{Snapshot: 3}},
		"time":     {At: &sluicev1.Start_Time{Time: timestamppb.New(time.UnixMilli(1_764_000_003_000))}},
		"cursor":   {At: &sluicev1.Start_Cursor{Cursor: tab.At(3).String()}},
	} {
		n := 0
		for _, m := range g.stream(t, &sluicev1.SubscribeRequest{Feed: "f", Start: start, Until: untilLatest()}) {
			n += countRows(m)
		}
		require.Equal(t, 1, n, name)
	}
	for name, until := range map[string]*sluicev1.Until{
		"snapshot": {At: &sluicev1.Until_Snapshot{Snapshot: 2}},
		"time":     {At: &sluicev1.Until_Time{Time: timestamppb.New(time.UnixMilli(1_764_000_002_000))}},
		"cursor":   {At: &sluicev1.Until_Cursor{Cursor: tab.At(3).String()}},
	} {
		n := 0
		for _, m := range g.stream(t, &sluicev1.SubscribeRequest{Feed: "f", Start: earliest(), Until: until}) {
			n += countRows(m)
		}
		require.Equal(t, 2, n, name)
	}
}

func details(err error) (info *errdetails.ErrorInfo, bad *errdetails.BadRequest) {
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.BadRequest:
			bad = d
		}
	}
	return info, bad
}

func TestErrorDetails(t *testing.T) {
	tab := table(5, 1)
	at := tab.At(1).String()
	tab.Expire(4)
	g := serve(t, feeds.Options{SubscriptionsMax: 1}, grpcfeed.Options{}, tab)
	st, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f", Start: &sluicev1.Start{At: &sluicev1.Start_Cursor{Cursor: at}}})
	require.NoError(t, err)
	_, err = st.Recv()
	require.Equal(t, codes.OutOfRange, status.Code(err))
	info, _ := details(err)
	require.Equal(t, "CURSOR_EXPIRED", info.GetReason())
	require.Equal(t, map[string]string{"earliest": "4", "latest": "5"}, info.GetMetadata())

	_, err = g.feeds.GetFeed(t.Context(), &sluicev1.GetFeedRequest{Feed: "nope"})
	require.Equal(t, codes.NotFound, status.Code(err))
	var kinds []string
	for _, d := range status.Convert(err).Details() {
		kinds = append(kinds, fmt.Sprintf("%T", d))
	}
	require.Equal(t, []string{"*errdetails.ErrorInfo", "*errdetails.ResourceInfo"}, kinds)

	one, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f"})
	require.NoError(t, err)
	_, err = one.Recv()
	require.NoError(t, err)
	two, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f"})
	require.NoError(t, err)
	_, err = two.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	kinds = nil
	for _, d := range status.Convert(err).Details() {
		kinds = append(kinds, fmt.Sprintf("%T", d))
	}
	require.Equal(t, []string{"*errdetails.ErrorInfo", "*errdetails.QuotaFailure", "*errdetails.RetryInfo"}, kinds)
}

func TestAck(t *testing.T) {
	tab := table(5, 1)
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, tab)
	out, err := g.feeds.Ack(t.Context(), &sluicev1.AckRequest{Feed: "f", Consumer: "c", Cursor: tab.At(4).String()})
	require.NoError(t, err)
	require.Equal(t, tab.At(4).String(), out.Cursor)
	n := 0
	for _, m := range g.stream(t, &sluicev1.SubscribeRequest{Feed: "f", Consumer: "c", Until: untilLatest()}) {
		n += countRows(m)
	}
	require.Equal(t, 2, n)
	for code, req := range map[codes.Code]*sluicev1.AckRequest{
		codes.NotFound:        {Feed: "g", Consumer: "c", Cursor: tab.At(4).String()},
		codes.InvalidArgument: {Feed: "f", Consumer: "", Cursor: tab.At(4).String()},
	} {
		_, err := g.feeds.Ack(t.Context(), req)
		require.Equal(t, code, status.Code(err))
	}
	_, err = g.feeds.Ack(t.Context(), &sluicev1.AckRequest{Feed: "f", Consumer: "c", Cursor: "zz"})
	info, _ := details(err)
	require.Equal(t, "CURSOR_INVALID", info.GetReason())
}

func TestListFeeds(t *testing.T) {
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, table(1, 1), table(2, 1), table(3, 1))
	var names []string
	for token := ""; ; {
		out, err := g.feeds.ListFeeds(t.Context(), &sluicev1.ListFeedsRequest{PageSize: 2, PageToken: token})
		require.NoError(t, err)
		for _, f := range out.Feeds {
			names = append(names, fmt.Sprint(f.Name, f.HeadSnapshot, f.Serving, f.Schema.Fields[0].Name))
		}
		if token = out.NextPageToken; token == "" {
			break
		}
	}
	require.Equal(t, []string{"f1 truek", "g2 truek", "h3 truek"}, names)
	_, err := g.feeds.ListFeeds(t.Context(), &sluicev1.ListFeedsRequest{PageToken: "%"})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	_, err = g.feeds.ListFeeds(t.Context(), &sluicev1.ListFeedsRequest{PageSize: -1})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// warehouse is a feeds.Tables of one table.
type warehouse struct{}

func (warehouse) ListTables(_ context.Context, db string) ([]string, error) {
	if db != "" && db != "shop" {
		return nil, &feeds.NotFoundError{Kind: "database", Name: db}
	}
	return []string{"shop.a", "shop.orders"}, nil
}

func (warehouse) Table(_ context.Context, name string) (*feeds.TableInfo, error) {
	if name != "shop.orders" {
		return nil, &feeds.NotFoundError{Kind: "table", Name: name}
	}
	return &feeds.TableInfo{
		Name: name, Options: map[string]string{"bucket": "2"}, Comment: "c", TotalRecords: 5,
		Status: feeds.Status{Latest: 3, Earliest: 2, LatestTime: time.Unix(9, 0), Schema: feedtest.Schema(4, 1)},
	}, nil
}

func (w warehouse) Schema(_ context.Context, name string, id int64) (*feeds.Schema, error) {
	if name != "shop.orders" || id > 4 {
		return nil, &feeds.NotFoundError{Kind: "schema", Name: fmt.Sprint(name, id)}
	}
	if id < 0 {
		id = 4
	}
	return feedtest.Schema(id, 1), nil
}

func TestTables(t *testing.T) {
	g := serve(t, feeds.Options{}, grpcfeed.Options{Tables: warehouse{}})
	list, err := g.tables.ListTables(t.Context(), &sluicev1.ListTablesRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"shop.a", "shop.orders"}, list.Tables)
	tab, err := g.tables.GetTable(t.Context(), &sluicev1.GetTableRequest{Table: "shop.orders"})
	require.NoError(t, err)
	require.EqualValues(t, 3, tab.Table.HeadSnapshot)
	require.EqualValues(t, 5, tab.Table.TotalRecords)
	require.EqualValues(t, 4, tab.Table.Schema.Id)
	require.EqualValues(t, 9, tab.Table.HeadTime.Seconds)
	_, err = g.tables.GetTable(t.Context(), &sluicev1.GetTableRequest{Table: "x.y"})
	info, _ := details(err)
	require.Equal(t, "TABLE_NOT_FOUND", info.GetReason())
	for _, id := range []*int64{nil, proto.Int64(2), proto.Int64(0)} {
		s, err := g.tables.GetSchema(t.Context(), &sluicev1.GetSchemaRequest{Table: "shop.orders", SchemaId: id})
		require.NoError(t, err)
		if id != nil {
			require.Equal(t, *id, s.Schema.Id)
		} else {
			require.EqualValues(t, 4, s.Schema.Id)
		}
	}
	_, err = g.tables.GetSchema(t.Context(), &sluicev1.GetSchemaRequest{Table: "shop.orders", SchemaId: proto.Int64(-1)})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestAuthorize(t *testing.T) {
	var asked []string
	g := serve(t, feeds.Options{}, grpcfeed.Options{Tables: warehouse{}, Authorize: func(_ context.Context, verb, name string) error {
		asked = append(asked, verb+" "+name)
		return &feeds.AuthError{Forbidden: true, Why: "not you"}
	}}, table(1, 1))
	st, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f"})
	require.NoError(t, err)
	_, err = st.Recv()
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	for _, call := range []func() error{
		func() error { _, err := g.feeds.Ack(t.Context(), &sluicev1.AckRequest{Feed: "f"}); return err },
		func() error { _, err := g.feeds.GetFeed(t.Context(), &sluicev1.GetFeedRequest{Feed: "f"}); return err },
		func() error { _, err := g.feeds.ListFeeds(t.Context(), &sluicev1.ListFeedsRequest{}); return err },
		func() error { _, err := g.tables.ListTables(t.Context(), &sluicev1.ListTablesRequest{}); return err },
		func() error {
			_, err := g.tables.GetTable(t.Context(), &sluicev1.GetTableRequest{Table: "t"})
			return err
		},
		func() error {
			_, err := g.tables.GetSchema(t.Context(), &sluicev1.GetSchemaRequest{Table: "t"})
			return err
		},
	} {
		require.Equal(t, codes.PermissionDenied, status.Code(call()))
	}
	require.Equal(t, []string{"subscribe f", "ack f", "describe f", "list feeds", "list tables", "describe t", "describe t"}, asked)
}

func TestHealth(t *testing.T) {
	tab := table(1, 1)
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, tab)
	h := grpc_health_v1.NewHealthClient(g.conn)
	for _, service := range []string{"", "sluice.v1.FeedService", "feed/f"} {
		out, err := h.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, out.Status)
	}
	for _, service := range []string{"feed/nope", "nope"} {
		_, err := h.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		require.Equal(t, codes.NotFound, status.Code(err))
	}
	list, err := h.List(t.Context(), &grpc_health_v1.HealthListRequest{})
	require.NoError(t, err)
	require.Len(t, list.Statuses, 3)

	st, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f"}) // so that the feed has a tail
	require.NoError(t, err)
	_, err = st.Recv()
	require.NoError(t, err)
	watch, err := h.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "feed/f"})
	require.NoError(t, err)
	next := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
		m, err := watch.Recv()
		require.NoError(t, err)
		return m.Status
	}
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, next())
	tab.Fail(errors.New("disk is on fire"))
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, next())
	f, err := g.feeds.GetFeed(t.Context(), &sluicev1.GetFeedRequest{Feed: "f"})
	require.NoError(t, err)
	require.False(t, f.Feed.Serving)
	require.Contains(t, f.Feed.Problem, "disk is on fire")
	tab.Fail(nil)
	tab.Commit()
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, next())
	g.hub.Drain()
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, next())
}

func TestReflection(t *testing.T) {
	ask := func(g *gateway) (string, error) {
		st, err := reflectionv1.NewServerReflectionClient(g.conn).ServerReflectionInfo(t.Context())
		require.NoError(t, err)
		err = st.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
		if !errors.Is(err, io.EOF) { // the server has ended the stream already, and Recv says why
			require.NoError(t, err)
		}
		m, err := st.Recv()
		return fmt.Sprint(m.GetListServicesResponse().GetService()), err
	}
	services, err := ask(serve(t, feeds.Options{}, grpcfeed.Options{}))
	require.NoError(t, err)
	require.Contains(t, services, "sluice.v1.FeedService")
	_, err = ask(serve(t, feeds.Options{}, grpcfeed.Options{NoReflection: true}))
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

func TestShutdown(t *testing.T) {
	tab := table(2, 1)
	g := serve(t, feeds.Options{}, grpcfeed.Options{}, tab)
	st, err := g.feeds.Subscribe(t.Context(), &sluicev1.SubscribeRequest{Feed: "f", Start: earliest()})
	require.NoError(t, err)
	for n := 0; n < 2; {
		m, err := st.Recv()
		require.NoError(t, err)
		n += countRows(m)
	}
	done := make(chan error, 1)
	go func() { done <- g.srv.Shutdown(t.Context()) }()
	for {
		m, err := st.Recv()
		if err != nil {
			require.Equal(t, codes.Unavailable, status.Code(err))
			info, _ := details(err)
			require.Equal(t, "NODE_DRAINING", info.GetReason())
			break
		}
		for _, f := range m.Frames {
			if r := f.GetReconnect(); r != nil {
				require.Equal(t, tab.At(3).String(), r.Cursor)
				require.EqualValues(t, 2000, r.SpreadMillis)
			}
		}
	}
	require.NoError(t, <-done)
}

// A subscriber that does not read holds its own stream back and nothing else.
func TestFrozenStream(t *testing.T) {
	const commits, rows = 300, 100
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	g := serve(t, feeds.Options{WindowBytes: 256 << 10}, grpcfeed.Options{}, tab)
	req := &sluicev1.SubscribeRequest{Feed: "f", Until: &sluicev1.Until{At: &sluicev1.Until_Snapshot{Snapshot: commits}}}
	open := func() sluicev1.FeedService_SubscribeClient {
		st, err := g.feeds.Subscribe(t.Context(), req)
		require.NoError(t, err)
		_, err = st.Recv()
		require.NoError(t, err)
		return st
	}
	read := func(st sluicev1.FeedService_SubscribeClient) (n int) {
		for {
			m, err := st.Recv()
			if errors.Is(err, io.EOF) {
				return n
			}
			require.NoError(t, err)
			n += countRows(m)
		}
	}
	frozen, quick := open(), open()
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), rows, strings.Repeat("x", 100), false)})
	}
	require.Equal(t, commits*rows, read(quick))
	f, err := g.hub.Feed("f")
	require.NoError(t, err)
	st := f.Stats()
	require.LessOrEqual(t, st.WindowBytes, 256<<10)
	require.Less(t, st.RowsDelivered, int64(2*commits*rows), "the frozen stream is held back")
	require.Equal(t, commits*rows, read(frozen))
	st = f.Stats()
	require.EqualValues(t, 2*commits*rows, st.RowsDelivered)
	require.Positive(t, st.Demoted)
}
