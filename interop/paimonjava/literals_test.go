//go:build interop

package paimonjava

import (
	"encoding/base64"
	"fmt"
	"testing"

	"sluice/paimon"
)

// TestLiterals has short values in which nothing repeats, but whose bytes are not all
// as frequent: their pages are zstd frames without matches.
func TestLiterals(t *testing.T) {
	t.Parallel()
	f := ours(t, paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{
			Fields: []string{"k INT NOT NULL", "text STRING", "other STRING NOT NULL", "bytes BYTES", "parts BYTES NOT NULL"},
			PK:     []string{"k"},
		},
		Options: map[string]string{"bucket": "1", "metadata.stats-mode": "full"},
	})
	r := newValues(t)
	skewed := func(symbols, n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(1 + r.IntN(symbols)))
		}
		return b
	}
	letters := func(n int) string {
		b := skewed(26, n)
		for i := range b {
			b[i] += 'a'
		}
		return string(b)
	}
	rows := make([]change, 30_000)
	for i := range rows {
		text := any(letters(30 + r.IntN(40)))
		if r.chance(9) {
			text = nil
		}
		rows[i] = change{"+I", []any{i, text, letters(1 + r.IntN(90)), base64.StdEncoding.EncodeToString(skewed(256, 40)), base64.StdEncoding.EncodeToString(skewed(2, 50))}}
	}
	f.write(rows...)
	f.agree()
	f.java("compact", f.dir, "--full")
	f.agree()
	key := fmt.Sprint(rows[20_001].Row[2])
	f.same(`other = '`+key+`'`, f.javaRows(where{}, `other = "`+key+`"`), f.rows(where{}, `other = '`+key+`'`))
}
