package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// pkg is what the go command tells of a package.
type pkg struct {
	ImportPath string
	Doc        string
	Imports    []string
	Name       string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,Name", "sluice/...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 15 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

// course is one row of bricks of the wall: packages that may import what lies
// below them, and of their own course only what is named.
type course struct {
	pattern string   // path.Match pattern below the module
	layer   int      // lower layers may be imported
	side    string   // "write", "read" or "": never across the middle
	own     []string // patterns of the same layer that may be imported too
}

var wall = []course{
	{"paimon/rowdata", 0, "", nil},
	{"objstore", 0, "", nil},
	{"objstore/*", 0, "", []string{"objstore"}},
	{"proto/*/*", 0, "", nil},
	{"internal/telemetry", 0, "", nil},
	{"internal/failpoint", 0, "", nil},
	{"internal/gctarget", 0, "", nil},
	{"paimon/predicate", 1, "", nil},
	{"paimon/internal/ocf", 1, "", nil},
	{"paimon/manifest", 1, "", []string{"paimon/internal/ocf"}},
	{"paimon/dv", 1, "", []string{"paimon/manifest"}},
	{"paimon/datafile/*", 1, "", []string{"paimon/internal/ocf", "paimon/datafile/*"}},
	{"paimon/datafile", 2, "", nil},
	{"paimon", 2, "", nil},
	{"lsm/aggregate/sketch", 0, "", nil},
	{"lsm/aggregate", 1, "", nil},
	{"lsm/merge", 2, "", nil},
	{"feeds/encode", 2, "", nil},
	{"paimon/commit", 3, "", nil},
	{"paimon/tablefile", 3, "", nil},
	{"paimon/maintenance", 3, "", []string{"paimon/tablefile"}},
	{"lsm/engine", 3, "", nil},
	{"lsm", 4, "write", nil},
	{"producer", 4, "write", nil},
	{"lookup", 4, "write", nil},
	{"tablewriter", 5, "write", nil},
	{"snapshotreader", 5, "read", nil},
	{"ingest", 6, "write", nil},
	{"feeds", 6, "read", nil},
	{"feeds/wire", 7, "read", nil},
	{"ingest/*", 8, "write", nil},
	{"feeds/*", 8, "read", nil},
	{"client", 8, "read", nil},
	{"internal/config", 9, "", nil},
	{"internal/*", 10, "", []string{"internal/*"}},
	{"cmd/*", 11, "", nil},
	{"examples/*/*", 11, "", nil},
	{"interop/*", 11, "", []string{"interop/*", "interop/*/*"}},
	{"interop/*/*", 11, "", []string{"interop/*", "interop/*/*"}},
	{"bench", 11, "", []string{"bench/*"}},
	{"bench/*", 11, "", []string{"bench/*"}},
}

func find(rel string) (course, bool) {
	for _, c := range wall {
		if ok, _ := path.Match(c.pattern, rel); ok {
			return c, true
		}
	}
	return course{}, false
}

func TestWallOfImports(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(p.ImportPath, "sluice/")
		from, ok := find(rel)
		if !ok {
			t.Errorf("package %s has no place in the wall: give it one in internal/lint and docs/ARCHITECTURE.md", rel)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, "sluice/") {
				continue
			}
			to := strings.TrimPrefix(imp, "sluice/")
			below, ok := find(to)
			if !ok {
				continue // reported on its own
			}
			allowed := below.layer < from.layer || below.layer == from.layer && slices.ContainsFunc(from.own, func(pattern string) bool {
				ok, _ := path.Match(pattern, to)
				return ok
			})
			if from.side != "" && below.side != "" && from.side != below.side {
				allowed = false
			}
			if !allowed {
				t.Errorf("%s imports %s: forbidden by the wall", rel, to)
			}
		}
	}
}

// owners names who may import each third-party module that has one owner.
var owners = map[string][]string{
	"github.com/parquet-go/parquet-go":    {"paimon/datafile/pqt"},
	"github.com/RoaringBitmap/roaring":    {"paimon/dv", "lsm/aggregate/sketch"},
	"github.com/apache/datasketches-go":   {"lsm/aggregate/sketch"},
	"github.com/nats-io/nats.go":          {"feeds/natsfeed", "internal/server", "interop/*", "bench", "bench/*"},
	"github.com/nats-io/nats-server":      {"internal/embeddednats"},
	"github.com/gorilla/websocket":        {"feeds/wsfeed", "examples/*/*", "bench", "bench/*", "interop/*"},
	"github.com/goccy/go-yaml":            {"internal/config", "internal/spec"},
	"github.com/spf13/cobra":              {"cmd/gateway"},
	"github.com/cockroachdb/pebble":       {"lookup"},
	"github.com/prometheus/client_golang": {"internal/telemetry"},
}

func TestOneOwnerForEachModule(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(p.ImportPath, "sluice/")
		for _, imp := range p.Imports {
			for module, names := range owners {
				if imp != module && !strings.HasPrefix(imp, module+"/") {
					continue
				}
				if !slices.ContainsFunc(names, func(n string) bool { ok, _ := path.Match(n, rel); return ok }) {
					t.Errorf("%s imports %s, which belongs to %s", rel, imp, strings.Join(names, ", "))
				}
			}
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}
