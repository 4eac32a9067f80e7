//go:build engines

package engines

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// engine runs a command of this folder and returns the lines of its output.
func engine(t *testing.T, name string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "./"+name, args...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	require.NoError(t, cmd.Run(), "%s %s\n%s\n%s", name, strings.Join(args, " "), out.String(), diag.String())
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// catalog of a warehouse folder, as object names have it.
func catalog(warehouse string) *paimon.Catalog {
	return paimon.NewCatalog(local.New("/", local.Options{}), strings.TrimPrefix(filepath.ToSlash(warehouse), "/"))
}

// change is one row of a stream: kind and JSON.
type change struct {
	Kind string          `json:"kind"`
	Row  json.RawMessage `json:"row"`
}

// changes reads the lines {"kind":…,"row":…} of an engine and renders each like
// ours.
func changes(t *testing.T, lines []string) []string {
	t.Helper()
	var all []string
	for _, line := range lines {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var c change
		require.NoError(t, json.Unmarshal([]byte(line), &c), line)
		if c.Row == nil {
			continue
		}
		all = append(all, c.Kind+" "+compact(t, c.Row))
	}
	return milliseconds(all)
}

func compact(t *testing.T, row []byte) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, json.Compact(&buf, row))
	return buf.String()
}

// at is the time column as engines print it: Flink leaves zero seconds out, Python
// prints six digits or none.
var at = regexp.MustCompile(`"at":"([^"T]*T\d\d:\d\d)(:\d\d)?(\.\d+)?"`)

// milliseconds renders the time column as we do.
func milliseconds(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = at.ReplaceAllStringFunc(line, func(s string) string {
			m := at.FindStringSubmatch(s)
			return `"at":"` + m[1] + cmp.Or(m[2], ":00") + (m[3] + ".000"[len(m[3][:min(4, len(m[3]))]):])[:4] + `"`
		})
	}
	return out
}

// tail reads changes until stop is closed and everything committed by then has
// come.
func tail(ctx context.Context, p *paimon.Table, stop <-chan struct{}) ([]string, error) {
	var all []string
	follow := func(start snapshotreader.Start, until snapshotreader.Until) (snapshotreader.Cursor, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if until.Mode == snapshotreader.UntilForever {
			go func() { // ends with ctx
				select {
				case <-stop:
					cancel()
				case <-ctx.Done():
				}
			}()
		}
		tl, err := snapshotreader.Open(ctx, p, start, snapshotreader.Options{Until: until})
		if err != nil {
			return snapshotreader.Cursor{}, err
		}
		defer tl.Close()
		for {
			b, err := tl.Next(ctx)
			if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
				return tl.Cursor(), nil
			}
			if err != nil {
				return tl.Cursor(), err
			}
			for i := range b.Rows.N {
				all = append(all, b.Rows.Kind(i).String()+" "+string(rowdata.AppendJSONObject(nil, &b.Rows.Batch, i)))
			}
		}
	}
	latest := snapshotreader.Until{Mode: snapshotreader.UntilLatest}
	select {
	case <-stop:
		_, err := follow(snapshotreader.Start{Mode: snapshotreader.StartEarliest}, latest)
		return all, err
	default:
	}
	stopped, err := follow(snapshotreader.Start{Mode: snapshotreader.StartEarliest}, snapshotreader.Until{})
	if err != nil {
		return nil, err
	}
	_, err = follow(snapshotreader.At(stopped), latest)
	return all, err
}

// rows reads the newest snapshot.
func rows(ctx context.Context, p *paimon.Table) ([]string, error) {
	s, err := p.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	scan, err := snapshotreader.Scan(ctx, p, s, snapshotreader.ScanSpec{})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	var all []string
	for {
		b, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows.N {
			all = append(all, string(rowdata.AppendJSONObject(nil, &b.Rows.Batch, i)))
		}
	}
}
