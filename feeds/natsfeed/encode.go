package natsfeed

import (
	"strings"

	"sluice/feeds"
)

// rowsJSON encodes changes as {"kind":"+U","row":{…}}: one, or a list of them.
type rowsJSON struct{ list bool }

// Name implements [feeds.Encoder].
func (e rowsJSON) Name() string { return "nats-json" }

// Append implements [feeds.Encoder].
func (e rowsJSON) Append(dst []byte, ev *feeds.Event) ([]byte, error) {
	if ev.Kind != feeds.FrameRows {
		return dst, nil
	}
	rows := ev.Schema.JSON()
	if e.list {
		dst = append(dst, '[')
	}
	for i := ev.From; i < ev.To; i++ {
		if i > ev.From {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"kind":"`...)
		dst = append(dst, ev.Rows.Kind(i).String()...)
		dst = append(dst, `","row":`...)
		dst = rows.AppendObject(dst, ev.Cols, i)
		dst = append(dst, '}')
	}
	if e.list {
		dst = append(dst, ']')
	}
	return dst, nil
}

func (p *Publisher) encoder() feeds.Encoder { return rowsJSON{list: p.o.EventsPerMessage > 1} }

func splitTable(name string) (db, table string) {
	db, table, _ = strings.Cut(name, ".")
	return db, table
}
