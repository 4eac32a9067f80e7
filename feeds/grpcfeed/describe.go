package grpcfeed

import (
	"context"
	"encoding/base64"
	"fmt"
	"sort"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/feeds"
	"sluice/feeds/wire"
	sluicev1 "sluice/proto/sluice/v1"
)

// Sizes of pages.
const (
	pageDefault = 100
	pageMax     = 1000
)

// Ack implements the call of that name.
func (s *Server) Ack(ctx context.Context, req *sluicev1.AckRequest) (*sluicev1.AckResponse, error) {
	if err := s.authorize(ctx, "ack", req.GetFeed()); err != nil {
		return nil, err
	}
	f, err := s.hub.Feed(req.GetFeed())
	if err != nil {
		return nil, err
	}
	c, err := feeds.ParseCursor(req.GetCursor())
	if err != nil {
		return nil, err
	}
	stored, err := f.Ack(ctx, req.GetConsumer(), c)
	if err != nil {
		return nil, err
	}
	return &sluicev1.AckResponse{Cursor: stored.String()}, nil
}

// GetFeed implements the call of that name.
func (s *Server) GetFeed(ctx context.Context, req *sluicev1.GetFeedRequest) (*sluicev1.GetFeedResponse, error) {
	if err := s.authorize(ctx, "describe", req.GetFeed()); err != nil {
		return nil, err
	}
	f, err := s.hub.Feed(req.GetFeed())
	if err != nil {
		return nil, err
	}
	m, err := describe(ctx, f)
	return &sluicev1.GetFeedResponse{Feed: m}, err
}

// ListFeeds implements the call of that name.
func (s *Server) ListFeeds(ctx context.Context, req *sluicev1.ListFeedsRequest) (*sluicev1.ListFeedsResponse, error) {
	if err := s.authorize(ctx, "list", "feeds"); err != nil {
		return nil, err
	}
	all := s.hub.Feeds()
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name()
	}
	from, to, next, err := page(names, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	out := &sluicev1.ListFeedsResponse{NextPageToken: next}
	for _, f := range all[from:to] {
		m, err := describe(ctx, f)
		if err != nil {
			return nil, err
		}
		out.Feeds = append(out.Feeds, m)
	}
	return out, nil
}

// describe asks a feed how it is. A table that can't be read is no error of the
// call, but what it tells.
func describe(ctx context.Context, f *feeds.Feed) (*sluicev1.Feed, error) {
	st, err := f.Status(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = f.Problem()
	}
	m := &sluicev1.Feed{
		Name: f.Name(), Table: st.Table, Schema: wire.Schema(st.Schema), HeadSnapshot: st.Latest, OldestSnapshot: st.Earliest,
		Subscriptions: int64(f.Stats().Subscriptions), Serving: err == nil,
	}
	if !st.LatestTime.IsZero() {
		m.HeadTime = timestamppb.New(st.LatestTime)
	}
	if err != nil {
		m.Problem = err.Error()
	}
	return m, nil
}

// page returns the part of sorted names that a page has, and the token of the
// next one. A token is the last name of the page before.
func page(names []string, size int32, token string) (from, to int, next string, err error) {
	n := int(size)
	switch {
	case n < 0:
		return 0, 0, "", &feeds.RequestError{Field: "page_size", Why: fmt.Sprintf("%d: want 0 to %d", n, pageMax)}
	case n == 0:
		n = pageDefault
	}
	n = min(n, pageMax)
	if token != "" {
		last, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return 0, 0, "", &feeds.RequestError{Field: "page_token", Why: "it is not one of an answer"}
		}
		from = sort.Search(len(names), func(i int) bool { return names[i] > string(last) })
	}
	to = min(from+n, len(names))
	if to < len(names) {
		next = base64.RawURLEncoding.EncodeToString([]byte(names[to-1]))
	}
	return from, to, next, nil
}

// tableServer serves TableService.
type tableServer struct {
	sluicev1.UnimplementedTableServiceServer
	tables    feeds.Tables
	authorize func(ctx context.Context, verb, name string) error
}

// ListTables implements the call of that name.
func (s *tableServer) ListTables(ctx context.Context, req *sluicev1.ListTablesRequest) (*sluicev1.ListTablesResponse, error) {
	if err := s.authorize(ctx, "list", "tables"); err != nil {
		return nil, err
	}
	names, err := s.tables.ListTables(ctx, req.GetDatabase())
	if err != nil {
		return nil, err
	}
	from, to, next, err := page(names, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &sluicev1.ListTablesResponse{Tables: names[from:to], NextPageToken: next}, nil
}

// GetTable implements the call of that name.
func (s *tableServer) GetTable(ctx context.Context, req *sluicev1.GetTableRequest) (*sluicev1.GetTableResponse, error) {
	if err := s.authorize(ctx, "describe", req.GetTable()); err != nil {
		return nil, err
	}
	t, err := s.tables.Table(ctx, req.GetTable())
	if err != nil {
		return nil, err
	}
	m := &sluicev1.Table{
		Name: t.Name, Schema: wire.Schema(t.Status.Schema), Options: t.Options, Comment: t.Comment,
		HeadSnapshot: t.Status.Latest, OldestSnapshot: t.Status.Earliest, TotalRecords: t.TotalRecords,
	}
	if !t.Status.LatestTime.IsZero() {
		m.HeadTime = timestamppb.New(t.Status.LatestTime)
	}
	return &sluicev1.GetTableResponse{Table: m}, nil
}

// GetSchema implements the call of that name.
func (s *tableServer) GetSchema(ctx context.Context, req *sluicev1.GetSchemaRequest) (*sluicev1.GetSchemaResponse, error) {
	if err := s.authorize(ctx, "describe", req.GetTable()); err != nil {
		return nil, err
	}
	id := int64(-1)
	if req.SchemaId != nil {
		if id = req.GetSchemaId(); id < 0 {
			return nil, &feeds.RequestError{Field: "schema_id", Why: fmt.Sprintf("%d: want at least 0", id)}
		}
	}
	schema, err := s.tables.Schema(ctx, req.GetTable(), id)
	if err != nil {
		return nil, err
	}
	return &sluicev1.GetSchemaResponse{Schema: wire.Schema(schema)}, nil
}
