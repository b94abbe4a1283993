package evalfarm

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/evalfarm/evalfarm/"

// floors lists the packages from the ground up. A package may import packages
// on the floors below it and nothing else of ours: not the floors above, and
// not its neighbours. Only tests may: what is beside them, and what shows tests the
// traces wherever they are made. To add a package is to choose its floor here.
var floors = []string{
	// Ground: what things are, and leaves that know nothing of us.
	"pkg/eval pkg/stats pkg/strictyaml pkg/schema pkg/vars pkg/redact pkg/sensitive pkg/bm25 pkg/schedule internal/commandtest internal/freeport",
	// First: contracts and pure rules.
	"pkg/match pkg/waiver pkg/flake pkg/blob pkg/jobs pkg/store pkg/broker pkg/answer pkg/mcp/wire internal/enginetest pkg/telemetry pkg/llm pkg/limit pkg/price",
	// Second: rules built on rules.
	"pkg/similar pkg/compare pkg/meter pkg/container pkg/store/sqlstore",
	// Third: adapters, each alone with its dependency, and engines.
	"pkg/telemetry/export pkg/jobs/asynqjobs pkg/limit/redislimit pkg/store/sqlitestore pkg/store/pgstore pkg/blob/httpblob pkg/blob/fileblob pkg/blob/s3blob pkg/blob/blobtest pkg/mcp/client pkg/mcp/catalog " +
		"pkg/llm/anthropic pkg/llm/openai pkg/llm/scripted pkg/llm/cassette pkg/llm/llmtest pkg/score pkg/judge " +
		"pkg/suite pkg/agent pkg/aggregate pkg/gate pkg/report pkg/forecast pkg/intake pkg/jobs/jobstest pkg/store/storetest pkg/spool internal/demo internal/redistest internal/pgtest internal/s3test",
	// Fourth: the services.
	"pkg/scheduler pkg/worker pkg/farmfile pkg/doctor pkg/notify pkg/telemetry/telemetrytest",
	// Fifth: faces that are served.
	"pkg/httpapi pkg/stub internal/otlptest",
	// Sixth: the composition.
	"pkg/app",
	// Seventh: the command line, and what starts it as processes and breaks them.
	"pkg/cli internal/chaos",
	// The roof.
	"cmd/evalfarm cmd/scheduler cmd/worker",
}

// rooms lists the third-party dependencies that live in few packages. The key is
// a prefix of the import path, the value is where it may appear.
var rooms = map[string]string{
	"github.com/hibiken/asynq":                   "pkg/jobs/asynqjobs",
	"github.com/redis/go-redis":                  "pkg/broker pkg/jobs/asynqjobs pkg/limit/redislimit",
	"github.com/alicebob/miniredis":              "pkg/broker",
	"github.com/mark3labs/mcp-go":                "pkg/mcp/client internal/demo",
	"github.com/santhosh-tekuri/jsonschema":      "pkg/schema",
	"github.com/invopop/jsonschema":              "pkg/suite",
	"github.com/anthropics/anthropic-sdk-go":     "pkg/llm/anthropic",
	"github.com/openai/openai-go":                "pkg/llm/openai",
	"gopkg.in/yaml.v3":                           "pkg/strictyaml",
	"github.com/theory/jsonpath":                 "pkg/match",
	"modernc.org/sqlite":                         "pkg/store/sqlitestore",
	"github.com/jackc/pgx":                       "pkg/store/pgstore",
	"github.com/pressly/goose":                   "pkg/store/sqlstore",
	"github.com/klauspost/compress":              "pkg/blob",
	"github.com/minio/minio-go":                  "pkg/blob/s3blob",
	"go.opentelemetry.io/otel":                   "pkg/telemetry pkg/telemetry/export pkg/telemetry/telemetrytest",
	"github.com/prometheus/":                     "pkg/telemetry/export pkg/telemetry/telemetrytest",
	"go.opentelemetry.io/proto/otlp":             "pkg/telemetry/export internal/otlptest",
	"google.golang.org/":                         "pkg/telemetry/export internal/otlptest",
	"github.com/wneessen/go-mail":                "pkg/notify",
	"github.com/emersion/":                       "", // tests only
	"github.com/standard-webhooks/":              "", // tests only
	"github.com/getkin/kin-openapi":              "", // tests only
	"github.com/spf13/cobra":                     "pkg/cli",
	"charm.land/":                                "pkg/cli",
	"golang.org/x/term":                          "pkg/cli",
	"golang.org/x/crypto/":                       "pkg/waiver",
	"gonum.org/v1/gonum":                         "pkg/stats",
	"github.com/rogpeppe/go-internal/testscript": "pkg/cli",
}

// testRooms are the rooms that a dependency may enter in _test.go files only.
var testRooms = map[string]string{
	"github.com/mark3labs/mcp-go":           "pkg/mcp/client pkg/app",
	"github.com/santhosh-tekuri/jsonschema": "pkg/suite",
	"github.com/alicebob/miniredis":         "pkg/jobs/asynqjobs",
	"github.com/pressly/goose":              "pkg/store/sqlitestore",
	"github.com/emersion/":                  "pkg/notify",
	"github.com/standard-webhooks/":         "pkg/notify pkg/cli",
	"github.com/getkin/kin-openapi":         "pkg/httpapi",
}

func TestFloorPlan(t *testing.T) {
	floor := map[string]int{}
	for i, names := range floors {
		for name := range strings.FieldsSeq(names) {
			floor[name] = i
		}
	}
	seen := map[string]bool{}
	eachFile(t, func(file string, imports []string) {
		pkg := path.Dir(file)
		test := strings.HasSuffix(file, "_test.go")
		if pkg == "." || strings.HasPrefix(pkg, "tools") {
			return
		}
		here, known := floor[pkg]
		if !known {
			t.Errorf("%s: package %s has no floor; give it one in floorplan_test.go", file, pkg)
			return
		}
		seen[pkg] = true
		for _, imp := range imports {
			if ours, ok := strings.CutPrefix(imp, module); ok && ours != pkg {
				there, known := floor[ours]
				switch {
				case !known:
					t.Errorf("%s imports %s, which has no floor", file, ours)
				case test && ours == "pkg/telemetry/telemetrytest":
				case there > here || there == here && !test:
					t.Errorf("%s (floor %d) imports %s (floor %d); a package imports only floors below it", file, here, ours, there)
				}
			}
			for prefix, allowed := range rooms {
				if !strings.HasPrefix(imp, prefix) {
					continue
				}
				if test {
					allowed += " " + testRooms[prefix]
				}
				if !contains(allowed, pkg) {
					t.Errorf("%s imports %s, which lives in %s", file, imp, allowed)
				}
			}
		}
	})
	for name := range floor {
		if !seen[name] {
			t.Errorf("floorplan_test.go lists %s, which has no Go files", name)
		}
	}
}

// TestGroundFloor holds the nouns and numbers to the standard library, and the
// numbers to one more room: the distributions.
func TestGroundFloor(t *testing.T) {
	eachFile(t, func(file string, imports []string) {
		pkg := path.Dir(file)
		if !contains("pkg/eval pkg/stats pkg/vars pkg/redact", pkg) || strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, imp := range imports {
			if pkg == "pkg/stats" && imp == "gonum.org/v1/gonum/stat/distuv" {
				continue
			}
			if strings.Contains(imp, ".") && (pkg == "pkg/eval" || !strings.HasPrefix(imp, module+"pkg/eval")) {
				t.Errorf("%s imports %s; the ground floor knows only the standard library", file, imp)
			}
		}
	})
}

// TestPackageDocs wants exactly one package comment in every package, and wants
// it to say something.
func TestPackageDocs(t *testing.T) {
	docs := map[string]int{}
	names := map[string]bool{}
	walk(t, func(file string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		pkg := path.Dir(file)
		names[pkg] = true
		if f.Doc != nil && len(f.Doc.Text()) > 40 {
			docs[pkg]++
		}
	})
	for pkg := range names {
		if docs[pkg] != 1 {
			t.Errorf("package %s has %d package comments, want 1", pkg, docs[pkg])
		}
	}
}

func eachFile(t *testing.T, fn func(file string, imports []string)) {
	t.Helper()
	walk(t, func(file string) {
		// Parsed in this process, so that the test cache notices a change.
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		var imports []string
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imports = append(imports, p)
		}
		fn(filepath.ToSlash(file), imports)
	})
}

// walk goes through the files of this module; tools and deploy are modules of their own.
func walk(t *testing.T, fn func(file string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || p == "tools" || p == "deploy"):
			return filepath.SkipDir
		case strings.HasSuffix(p, ".go"):
			fn(p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func contains(fields, word string) bool {
	for f := range strings.FieldsSeq(fields) {
		if f == word {
			return true
		}
	}
	return false
}
