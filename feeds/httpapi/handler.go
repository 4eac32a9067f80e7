package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"sluice/feeds"
	"sluice/paimon/rowdata"
)

// Query names rows of a table.
type Query struct {
	Table    string
	Snapshot int64 // 0: the newest
	Tag      string
	Columns  []string // nil: all
	Where    string   // "": all rows
}

// Rows is an open result.
type Rows interface {
	Snapshot() int64 // 0: the table is empty
	SchemaID() int64
	// Next returns the next rows, valid until the call after, or io.EOF.
	Next(ctx context.Context) (*rowdata.Batch, error)
	Close() error
}

// Reader reads rows of tables. Errors are those that feeds.ProblemOf knows.
type Reader interface {
	Query(ctx context.Context, q Query) (Rows, error)
}

// Options configures [New].
type Options struct {
	Hub       *feeds.Hub   // required
	Tables    feeds.Tables // required
	Reader    Reader       // nil: no rows
	RowsMax   int          // rows of one answer; default 10,000
	BytesMax  int          // about the bytes of one answer; default 16 MiB
	Component func() map[string]error
}

// New returns the handler.
func New(o Options) http.Handler {
	if o.RowsMax == 0 {
		o.RowsMax = 10_000
	}
	if o.BytesMax == 0 {
		o.BytesMax = 16 << 20
	}
	h := &handler{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tables", h.tables)
	mux.HandleFunc("GET /v1/tables/{table}", h.table)
	mux.HandleFunc("GET /v1/tables/{table}/schemas/{id}", h.schema)
	mux.HandleFunc("GET /v1/tables/{table}/rows", h.rows)
	mux.HandleFunc("GET /v1/feeds", h.feeds)
	mux.HandleFunc("GET /v1/feeds/{feed}", h.feed)
	mux.HandleFunc("GET /healthz", h.health)
	mux.HandleFunc("GET /readyz", h.ready)
	return mux
}

type handler struct{ o Options }

func answer(w http.ResponseWriter, x any) {
	body, err := json.Marshal(x)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}

type fieldJSON struct {
	ID          int           `json:"id"`
	Name        string        `json:"name"`
	Type        *rowdata.Type `json:"type"`
	Description string        `json:"description,omitempty"`
}

type schemaJSON struct {
	ID            int64       `json:"id"`
	Fields        []fieldJSON `json:"fields"`
	PrimaryKeys   []string    `json:"primaryKeys"`
	PartitionKeys []string    `json:"partitionKeys"`
}

func schemaOf(s *feeds.Schema) *schemaJSON {
	if s == nil {
		return nil
	}
	out := &schemaJSON{ID: s.ID, PrimaryKeys: s.PrimaryKey, PartitionKeys: s.PartitionKey, Fields: []fieldJSON{}}
	for i := range s.Row.Fields {
		f := &s.Row.Fields[i]
		out.Fields = append(out.Fields, fieldJSON{ID: f.ID, Name: f.Name, Type: f.Type, Description: f.Description})
	}
	if out.PrimaryKeys == nil {
		out.PrimaryKeys = []string{}
	}
	if out.PartitionKeys == nil {
		out.PartitionKeys = []string{}
	}
	return out
}

type tableJSON struct {
	Name             string            `json:"name"`
	Comment          string            `json:"comment,omitempty"`
	Schema           *schemaJSON       `json:"schema"`
	Options          map[string]string `json:"options"`
	LatestSnapshot   int64             `json:"latestSnapshot"`
	EarliestSnapshot int64             `json:"earliestSnapshot"`
	LatestTimeMillis int64             `json:"latestTimeMillis,omitempty"`
	TotalRecordCount int64             `json:"totalRecordCount"`
}

func (h *handler) tableInfo(ctx context.Context, name string) (*tableJSON, error) {
	t, err := h.o.Tables.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &tableJSON{
		Name: t.Name, Comment: t.Comment, Schema: schemaOf(t.Status.Schema), Options: t.Options,
		LatestSnapshot: t.Status.Latest, EarliestSnapshot: t.Status.Earliest, TotalRecordCount: t.TotalRecords,
	}
	if !t.Status.LatestTime.IsZero() {
		out.LatestTimeMillis = t.Status.LatestTime.UnixMilli()
	}
	return out, nil
}

func (h *handler) tables(w http.ResponseWriter, r *http.Request) {
	names, err := h.o.Tables.ListTables(r.Context(), r.URL.Query().Get("database"))
	if err != nil {
		WriteProblem(w, err)
		return
	}
	if names == nil {
		names = []string{}
	}
	answer(w, map[string]any{"tables": names})
}

func (h *handler) table(w http.ResponseWriter, r *http.Request) {
	t, err := h.tableInfo(r.Context(), r.PathValue("table"))
	if err != nil {
		WriteProblem(w, err)
		return
	}
	answer(w, t)
}

func (h *handler) schema(w http.ResponseWriter, r *http.Request) {
	id := int64(-1)
	if text := r.PathValue("id"); text != "latest" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			WriteProblem(w, &feeds.RequestError{Field: "id", Why: "want a number from 0, or latest"})
			return
		}
		id = n
	}
	s, err := h.o.Tables.Schema(r.Context(), r.PathValue("table"), id)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	answer(w, schemaOf(s))
}

type feedJSON struct {
	Name             string `json:"name"`
	LatestSnapshot   int64  `json:"latestSnapshot"`
	EarliestSnapshot int64  `json:"earliestSnapshot"`
	Subscriptions    int    `json:"subscriptions"`
	Serving          bool   `json:"serving"`
	Problem          string `json:"problem,omitempty"`
}

func (h *handler) feedInfo(ctx context.Context, f *feeds.Feed) feedJSON {
	out := feedJSON{Name: f.Name(), Subscriptions: f.Stats().Subscriptions, Serving: true}
	status, err := f.Status(ctx)
	if err == nil {
		out.LatestSnapshot, out.EarliestSnapshot = status.Latest, status.Earliest
		err = f.Problem()
	}
	if err != nil {
		out.Serving, out.Problem = false, err.Error()
	}
	return out
}

func (h *handler) feeds(w http.ResponseWriter, r *http.Request) {
	all := []feedJSON{}
	for _, f := range h.o.Hub.Feeds() {
		all = append(all, h.feedInfo(r.Context(), f))
	}
	answer(w, map[string]any{"feeds": all})
}

func (h *handler) feed(w http.ResponseWriter, r *http.Request) {
	f, err := h.o.Hub.Feed(r.PathValue("feed"))
	if err != nil {
		WriteProblem(w, err)
		return
	}
	answer(w, h.feedInfo(r.Context(), f))
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]string{"status": "ok"})
}

// ready tells the truth: each feed is asked now, and each other component too.
func (h *handler) ready(w http.ResponseWriter, r *http.Request) {
	broken := map[string]string{}
	if h.o.Hub.Draining() {
		broken["gateway"] = "draining"
	}
	for _, f := range h.o.Hub.Feeds() {
		if info := h.feedInfo(r.Context(), f); !info.Serving {
			broken["feed "+info.Name] = info.Problem
		}
	}
	if h.o.Component != nil {
		for name, err := range h.o.Component() {
			if err != nil {
				broken[name] = err.Error()
			}
		}
	}
	if len(broken) > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(map[string]any{"ready": false, "broken": broken})
		return
	}
	answer(w, map[string]any{"ready": true})
}
