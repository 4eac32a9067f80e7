package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"sluice/feeds"
	"sluice/paimon/rowdata"
)

// query reads the parameters of a rows request.
func query(r *http.Request, limitMax int) (q Query, limit int, err error) {
	bad := func(field, why string) (Query, int, error) {
		return Query{}, 0, &feeds.RequestError{Field: field, Why: why}
	}
	p := r.URL.Query()
	for name := range p {
		switch name {
		case "snapshot", "tag", "columns", "where", "limit":
		default:
			return bad(name, "no such parameter: there are snapshot, tag, columns, where and limit")
		}
	}
	q = Query{Table: r.PathValue("table"), Tag: p.Get("tag"), Where: p.Get("where")}
	limit = limitMax
	if s := p.Get("snapshot"); s != "" {
		if q.Snapshot, err = strconv.ParseInt(s, 10, 64); err != nil || q.Snapshot < 1 {
			return bad("snapshot", "want a number from 1")
		}
	}
	if q.Snapshot != 0 && q.Tag != "" {
		return bad("tag", "give snapshot or tag, not both")
	}
	if s := p.Get("columns"); s != "" {
		q.Columns = strings.Split(s, ",")
	}
	if s := p.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > limitMax {
			return bad("limit", "want a number from 1 to "+strconv.Itoa(limitMax))
		}
	}
	return q, limit, nil
}

func (h *handler) rows(w http.ResponseWriter, r *http.Request) {
	if h.o.Reader == nil {
		WriteProblem(w, &feeds.UnsupportedError{What: "reading rows over HTTP at this gateway"})
		return
	}
	q, limit, err := query(r, h.o.RowsMax)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	rows, err := h.o.Reader.Query(r.Context(), q)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	defer rows.Close()
	body, truncated, err := h.collect(r, rows, limit)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	out := append([]byte(`{"snapshot":`), strconv.FormatInt(rows.Snapshot(), 10)...)
	out = append(out, `,"schemaId":`...)
	out = strconv.AppendInt(out, rows.SchemaID(), 10)
	out = append(out, `,"truncated":`...)
	out = strconv.AppendBool(out, truncated)
	out = append(out, `,"rows":[`...)
	out = append(out, body...)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(out, "]}\n"...)) // the client may have gone
}

// collect renders rows until the limit; an answer begins only when it is known
// to be whole, so that an error in the middle is no cut body.
func (h *handler) collect(r *http.Request, rows Rows, limit int) (body []byte, truncated bool, err error) {
	n := 0
	for {
		b, err := rows.Next(r.Context())
		if errors.Is(err, io.EOF) {
			return body, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		for i := range b.N {
			if n == limit || len(body) > h.o.BytesMax {
				return body, true, nil
			}
			if n > 0 {
				body = append(body, ',')
			}
			body = rowdata.AppendJSONObject(body, b, i)
			n++
		}
	}
}
