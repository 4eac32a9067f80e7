package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"sluice/paimon/rowdata"
)

// writeJSON writes one JSON line.
func writeJSON(w io.Writer, x any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// isTerminal tells whether people look at the file directly.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// maxCell bounds a cell of a text table, in characters.
const maxCell = 60

// grid collects cells and writes them as aligned columns. Numbers go right.
type grid struct {
	head  []string
	right []bool
	rows  [][]string
}

func newGrid(head ...string) *grid { return &grid{head: head, right: make([]bool, len(head))} }

func (g *grid) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c.(type) {
		case int, int32, int64, uint64, float64:
			g.right[i] = true
		}
		row[i] = clip(fmt.Sprint(c))
	}
	g.rows = append(g.rows, row)
}

func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '·'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > maxCell {
		s = string([]rune(s)[:maxCell-1]) + "…"
	}
	return s
}

func (g *grid) flush(w io.Writer) error {
	widths := make([]int, len(g.head))
	for i, h := range g.head {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, row := range g.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	line := func(row []string) {
		var l strings.Builder
		for i, c := range row {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if g.right[i] {
				l.WriteString(pad + c)
			} else {
				l.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(g.head)
	for _, row := range g.rows {
		line(row)
	}
	g.rows = g.rows[:0]
	_, err := io.WriteString(w, b.String())
	return err
}

// rowPrinter writes rows of a table, with kinds where they are told.
type rowPrinter struct {
	w     io.Writer
	json  bool
	kinds bool
	buf   []byte
	grid  *grid
	count int64
}

func newRowPrinter(w io.Writer, asJSON, kinds bool) *rowPrinter {
	return &rowPrinter{w: w, json: asJSON, kinds: kinds}
}

// gridRows is how many rows are aligned together.
const gridRows = 200

// print writes row i of a batch.
func (p *rowPrinter) print(b *rowdata.Batch, kind rowdata.RowKind, i int) error {
	p.count++
	if p.json {
		p.buf = rowdata.AppendJSONObject(p.buf[:0], b, i)
		p.buf = append(p.buf, '\n')
		_, err := p.w.Write(p.buf)
		return err
	}
	if p.grid == nil {
		head := b.Type.Names()
		if p.kinds {
			head = append([]string{""}, head...)
		}
		p.grid = newGrid(head...)
	}
	cells := make([]any, 0, len(b.Cols)+1)
	if p.kinds {
		cells = append(cells, kind.String())
	}
	for _, v := range b.Cols {
		cells = append(cells, cellText(v, i))
	}
	p.grid.add(cells...)
	for c, v := range b.Cols {
		at := c
		if p.kinds {
			at++
		}
		p.grid.right[at] = isNumber(v.Type)
	}
	if len(p.grid.rows) >= gridRows {
		return p.flush()
	}
	return nil
}

func isNumber(t *rowdata.Type) bool {
	return t.Root >= rowdata.TinyInt && t.Root <= rowdata.Decimal
}

// cellText is the value as people read it: text without quotes, NULL as such.
func cellText(v *rowdata.Vector, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	if v.Type.IsString() {
		return string(v.Bytes(i))
	}
	return strings.Trim(string(rowdata.AppendJSON(nil, v, i)), `"`)
}

func (p *rowPrinter) flush() error {
	if p.grid == nil || len(p.grid.rows) == 0 {
		return nil
	}
	return p.grid.flush(p.w)
}

// size renders a number of bytes for people.
func size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	x, u := float64(n), 0
	for x >= 1000 && u < len(units)-1 {
		x /= 1000
		u++
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", x, units[u])
}
