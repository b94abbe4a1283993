package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/stats"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

// tracedRepeats of the twelve cases of a run: a few seconds.
const tracedRepeats = 100

// An arm is a way to run the same suite.
type arm struct {
	name      string
	binary    string
	collector string
	// run is from the run's creation to its end, wall from the start of the process to
	// its end, which may wait for the collector, cpu the time of the processors: seconds
	// of each round.
	run, wall, cpu []float64
}

// BenchmarkTracing runs scripted trials in one process of the real command, again and
// again: with the functions of telemetry cut out of it; with tracing off; and with
// tracing on at a collector that refuses, and at one that takes the connection and is
// silent. It reports how much longer a run and its process take, and how much more of the
// processors, each with a 95 % interval. It wants
// a number of rounds, as -benchtime 20x, and a machine that has no other work.
func BenchmarkTracing(b *testing.B) {
	dir := b.TempDir()
	whole, without := filepath.Join(dir, "evalfarm"), filepath.Join(dir, "absent")
	buildCommand(b, whole)
	buildCommand(b, without, "-overlay", withoutTelemetry(b, dir))
	arms := []*arm{
		{name: "absent", binary: without},
		{name: "off", binary: whole},
		{name: "refused", binary: whole, collector: closedPort(b)},
		{name: "silent", binary: whole, collector: silentPort(b)},
	}
	for round := range b.N {
		for i := range arms {
			arms[(round+i)%len(arms)].time(b) // nobody is always the first
		}
	}
	b.ReportMetric(0, "ns/op")
	if b.N < 6 {
		return // there is no interval of so few; go test tries one round first
	}
	compared(b, arms[0], arms[1])
	compared(b, arms[1], arms[2])
	compared(b, arms[1], arms[3])
}

// compared reports the ratios of two arms.
func compared(b *testing.B, base, head *arm) {
	b.Helper()
	report := func(what string, base, head []float64, name string) {
		ranked, _ := stats.SignedRank(stats.LogRatios(base, head), 0.95)
		got := ranked.Exp()
		b.ReportMetric(got.Point, name+"-"+what)
		b.Logf("%s, %s: %+.1f %% [%+.1f, %+.1f]", name, what, 100*(got.Point-1), 100*(got.Low-1), 100*(got.High-1))
	}
	name := head.name + "/" + base.name
	report("run", base.run, head.run, name)
	report("wall", base.wall, head.wall, name)
	report("cpu", base.cpu, head.cpu, name)
}

func (a *arm) time(b *testing.B) {
	b.Helper()
	home := b.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(a.binary, "run", filepath.Join(root, "internal/demo/testdata/golden/tool-accuracy.json"),
		"--server", a.binary+" demo acme", "--repeats", fmt.Sprint(tracedRepeats), "--seed", "1", "--progress", "none", "--quiet")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "EVALFARM_") }),
		"EVALFARM_HOME="+home, "OTEL_METRICS_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT="+a.collector)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", a.name, err, &said)
	}
	a.wall = append(a.wall, time.Since(start).Seconds())
	a.cpu = append(a.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	db, err := sqlitestore.Open(b.Context(), filepath.Join(home, "evalfarm.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	runs, err := db.ListRuns(b.Context(), store.RunFilter{})
	if err != nil || len(runs) != 1 {
		b.Fatalf("%s: got %d runs (%v), want one", a.name, len(runs), err)
	}
	a.run = append(a.run, runs[0].Finished.Sub(runs[0].Created).Seconds())
	if lost := strings.Contains(said.String(), "spans are lost"); lost != (a.collector != "") {
		b.Fatalf("%s: spans lost: %v\n%s", a.name, lost, &said)
	}
}

func buildCommand(b *testing.B, to string, flags ...string) {
	b.Helper()
	args := append([]string{"build", "-o", to}, flags...)
	cmd := exec.Command("go", append(args, "github.com/evalfarm/evalfarm/cmd/evalfarm")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// withoutTelemetry makes an overlay for go build, in which each function of
// pkg/telemetry that spans or measures returns at once.
func withoutTelemetry(b *testing.B, dir string) string {
	b.Helper()
	files, err := filepath.Glob("../telemetry/*.go")
	if err != nil {
		b.Fatal(err)
	}
	replace, cut := map[string]string{}, 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, text, 0)
		if err != nil {
			b.Fatal(err)
		}
		at := func(p token.Pos) int { return fset.Position(p).Offset }
		var out bytes.Buffer
		end := 0
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !tells(f) {
				continue
			}
			out.Write(text[end : at(f.Body.Lbrace)+1])
			end = at(f.Body.Lbrace) + 1
			// The compiler leaves out what is behind, and the imports stay in use.
			fmt.Fprintf(&out, " if true { return %s };", strings.Join(nothing(f, func(e ast.Expr) string { return string(text[at(e.Pos()):at(e.End())]) }), ", "))
			cut++
		}
		out.Write(text[end:])
		whole, err := filepath.Abs(file)
		if err != nil {
			b.Fatal(err)
		}
		replace[whole] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[whole], out.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if cut < 50 {
		b.Fatalf("%d functions of telemetry are cut out, want all", cut)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// tells says whether a function of pkg/telemetry is one that others call to tell
// something: what a context, a span, a tracer or the metrics are given to.
func tells(f *ast.FuncDecl) bool {
	if !f.Name.IsExported() || f.Name.Name == "IdentityOf" {
		return false
	}
	if f.Recv != nil {
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		name, ok := of.(*ast.Ident)
		return ok && slices.Contains([]string{"Span", "Tracer", "Metrics", "Attempt"}, name.Name) && f.Name.Name != "TraceID"
	}
	if len(f.Type.Params.List) == 0 {
		return false
	}
	first, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && first.Sel.Name == "Context"
}

// nothing is what a function returns that tells nothing: the context that it was
// given, functions that do nothing, and zero values.
func nothing(f *ast.FuncDecl, source func(ast.Expr) string) []string {
	var all []string
	if f.Type.Results == nil {
		return nil
	}
	for _, r := range f.Type.Results.List {
		kind := source(r.Type)
		for range max(1, len(r.Names)) {
			switch {
			case kind == "context.Context":
				all = append(all, f.Type.Params.List[0].Names[0].Name)
			case strings.HasPrefix(kind, "func("):
				all = append(all, kind+" {}")
			default:
				all = append(all, "*new("+kind+")")
			}
		}
	}
	return all
}

// closedPort is the URL of an address that refuses.
func closedPort(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// silentPort is the URL of an address that takes connections and says nothing.
func silentPort(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.Cleanup(func() { _ = conn.Close() })
		}
	}()
	b.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}
