package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/paimon/rowdata"
)

// shop is a warehouse of one table with ten rows.
type shop struct {
	schema *feeds.Schema
	fail   error
}

func (s *shop) ListTables(_ context.Context, db string) ([]string, error) {
	if db != "" && db != "shop" {
		return nil, &feeds.NotFoundError{Kind: "database", Name: db}
	}
	return []string{"shop.orders"}, nil
}

func (s *shop) Table(_ context.Context, name string) (*feeds.TableInfo, error) {
	if name != "shop.orders" {
		return nil, &feeds.NotFoundError{Kind: "table", Name: name}
	}
	return &feeds.TableInfo{Name: name, Status: feeds.Status{Latest: 4, Earliest: 2, Schema: s.schema}, Options: map[string]string{"bucket": "1"}, TotalRecords: 10}, nil
}

func (s *shop) Schema(_ context.Context, table string, id int64) (*feeds.Schema, error) {
	if id > 0 {
		return nil, &feeds.NotFoundError{Kind: "schema", Name: table}
	}
	return s.schema, nil
}

func (s *shop) Query(_ context.Context, q Query) (Rows, error) {
	if q.Where == "broken" {
		return nil, &feeds.RequestError{Field: "where", Why: "not a condition"}
	}
	return &tenRows{s: s}, nil
}

type tenRows struct {
	s    *shop
	done bool
}

func (r *tenRows) Snapshot() int64 { return 4 }
func (r *tenRows) SchemaID() int64 { return r.s.schema.ID }
func (r *tenRows) Close() error    { return nil }
func (r *tenRows) Next(context.Context) (*rowdata.Batch, error) {
	if r.s.fail != nil {
		return nil, r.s.fail
	}
	if r.done {
		return nil, io.EOF
	}
	r.done = true
	return &feedtest.Rows(r.s.schema, 1, 10, "x", false).Batch, nil
}

type rig struct {
	t     *testing.T
	shop  *shop
	table *feedtest.Table
	hub   *feeds.Hub
	h     http.Handler
	parts map[string]error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	hub, err := feeds.NewHub(feeds.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, hub.Close()) })
	r := &rig{t: t, hub: hub, shop: &shop{schema: feedtest.Schema(0, 1)}, parts: map[string]error{}}
	r.table = feedtest.NewTable(7, r.shop.schema)
	_, err = hub.Add("orders", r.table, feeds.NewMemory())
	require.NoError(t, err)
	r.h = New(Options{Hub: hub, Tables: r.shop, Reader: r.shop, RowsMax: 8, BytesMax: 200, Component: func() map[string]error { return r.parts }})
	return r
}

func (r *rig) get(url string) (int, map[string]any) {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, url, nil))
	var body map[string]any
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &body), w.Body.String())
	return w.Code, body
}

func TestTablesAndSchemas(t *testing.T) {
	r := newRig(t)
	code, body := r.get("/v1/tables")
	require.Equal(t, 200, code)
	require.Equal(t, []any{"shop.orders"}, body["tables"])
	_, body = r.get("/v1/tables/shop.orders")
	require.EqualValues(t, 4, body["latestSnapshot"])
	require.Equal(t, []any{"k"}, body["schema"].(map[string]any)["primaryKeys"])
	_, body = r.get("/v1/tables/shop.orders/schemas/latest")
	require.Equal(t, "BIGINT NOT NULL", body["fields"].([]any)[0].(map[string]any)["type"])
	for url, want := range map[string]string{
		"/v1/tables/shop.nope":             "TABLE_NOT_FOUND",
		"/v1/tables?database=nope":         "TABLE_NOT_FOUND",
		"/v1/tables/shop.orders/schemas/9": "TABLE_NOT_FOUND",
		"/v1/feeds/nope":                   "FEED_NOT_FOUND",
	} {
		code, body := r.get(url)
		require.Equal(t, 404, code, url)
		require.Equal(t, want, body["reason"], url)
	}
	code, body = r.get("/v1/tables/shop.orders/schemas/x")
	require.Equal(t, 400, code)
	require.Equal(t, "REQUEST_INVALID", body["reason"])
}

func TestRowsAreBounded(t *testing.T) {
	r := newRig(t)
	code, body := r.get("/v1/tables/shop.orders/rows?limit=2")
	require.Equal(t, 200, code)
	require.Equal(t, true, body["truncated"])
	require.Len(t, body["rows"], 2)
	require.Equal(t, map[string]any{"k": 1.0, "a": "xa-1-0"}, body["rows"].([]any)[0])
	require.EqualValues(t, 4, body["snapshot"])
	_, body = r.get("/v1/tables/shop.orders/rows")
	require.Equal(t, true, body["truncated"])
	require.LessOrEqual(t, len(body["rows"].([]any)), 8)
	for _, q := range []string{"limit=9", "limit=x", "limit=0", "snapshot=0", "snapshot=1&tag=t", "colums=a", "where=broken"} {
		code, body := r.get("/v1/tables/shop.orders/rows?" + q)
		require.Equal(t, 400, code, q)
		require.Equal(t, "REQUEST_INVALID", body["reason"], q)
	}
}

func TestAnErrorInTheMiddleIsNoCutBody(t *testing.T) {
	r := newRig(t)
	r.shop.fail = errors.New("disk trouble")
	code, body := r.get("/v1/tables/shop.orders/rows")
	require.Equal(t, 500, code)
	require.Equal(t, "INTERNAL", body["reason"])
}

func TestReadinessTellsTheTruth(t *testing.T) {
	r := newRig(t)
	code, _ := r.get("/healthz")
	require.Equal(t, 200, code)
	code, _ = r.get("/readyz")
	require.Equal(t, 200, code)
	r.parts["publisher of feed orders"] = errors.New("stream is gone")
	code, body := r.get("/readyz")
	require.Equal(t, 503, code)
	require.Equal(t, map[string]any{"publisher of feed orders": "stream is gone"}, body["broken"])
	r.parts = map[string]error{}
	r.table.Fail(errors.New("disk trouble"))
	code, body = r.get("/readyz")
	require.Equal(t, 503, code)
	require.Contains(t, body["broken"], "feed orders")
	_, body = r.get("/v1/feeds/orders")
	require.Equal(t, false, body["serving"])
	r.table.Fail(nil)
	r.hub.Drain()
	code, _ = r.get("/readyz")
	require.Equal(t, 503, code)
}

func TestEveryReasonHasAStatus(t *testing.T) {
	for _, reason := range feeds.Reasons() {
		require.Contains(t, statusOf, reason)
	}
}
