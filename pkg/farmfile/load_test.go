package farmfile_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/schema"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

var update = flag.Bool("update", false, "write what is got over what is wanted")

func corpus(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	for _, ext := range []string{"yaml", "json"} {
		found, err := filepath.Glob(filepath.Join("testdata", folder, "*."+ext))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no files in %s", folder)
	}
	return files
}

// fits says why the schema for editors refuses a file.
func fits(t *testing.T, file string, text []byte) error {
	t.Helper()
	raw, err := farmfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strictyaml.Parse(file, text)
	return s.Validate(n.JSON())
}

func content(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGoodFilesLoadAndFitTheSchema(t *testing.T) {
	for _, file := range corpus(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := farmfile.Load(file, farmfile.Options{})
			switch {
			case err != nil:
				t.Errorf("the loader refuses it:\n%v", err)
			case len(f.Warnings) > 0:
				t.Errorf("got warnings %v, want none", f.Warnings)
			}
			if err := fits(t, file, content(t, file)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
}

func TestBadFilesFitNeitherLoaderNorSchema(t *testing.T) {
	for _, file := range corpus(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			wantProblems(t, file)
			if err := fits(t, file, content(t, file)); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// What is wrong below the level of JSON, or between two places, no schema can
// find.
func TestOnlyTheLoaderFinds(t *testing.T) {
	for _, file := range corpus(t, "bad-semantics") {
		t.Run(filepath.Base(file), func(t *testing.T) { wantProblems(t, file) })
	}
}

// wantProblems compares what loading a file reports with its .want file.
func wantProblems(t *testing.T, file string) {
	t.Helper()
	_, err := farmfile.Load(file, farmfile.Options{})
	var problems *suite.ProblemsError
	if !errors.As(err, &problems) {
		t.Fatalf("got error %v, want problems", err)
	}
	want := strings.TrimSuffix(file, filepath.Ext(file)) + ".want"
	got := filepath.ToSlash(problems.Error())
	if *update {
		if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(content(t, want)), got); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
	if strings.Contains(got, "never-shown") {
		t.Error("a secret is shown")
	}
}

// The committed schema is the one that the structs give, and every key of it says
// what it is for.
func TestCommittedSchema(t *testing.T) {
	const file = "../../schema/farm.schema.json"
	got, err := farmfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(content(t, file)), string(got)); diff != "" {
		t.Errorf("the schema differs; run go test ./pkg/farmfile -update (-want +got):\n%s", diff)
	}
	doc, err := eval.Decode(got)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if props, ok := v["properties"].(map[string]any); ok {
				for key, p := range props {
					if about, ok := p.(map[string]any); !ok || about["description"] == nil {
						t.Errorf("%s/%s has no description", path, key)
					}
				}
			}
			for key, inner := range v {
				walk(path+"/"+key, inner)
			}
		case []any:
			for _, inner := range v {
				walk(path, inner)
			}
		}
	}
	walk("", doc)
}

func TestTenants(t *testing.T) {
	got, err := farmfile.Load("testdata/good/tenants.yaml", farmfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []farmfile.Tenant{{Name: "ci", Trials: 40, Weight: 2}, {Name: "nightly", Trials: 1000, Weight: 1}, {Name: "research", Weight: 1}}
	if diff := cmp.Diff(want, got.Tenants); diff != "" {
		t.Errorf("tenants (-want +got):\n%s", diff)
	}
}

func TestWhatAFileSays(t *testing.T) {
	env := map[string]string{"GPU_HOST": "gpu-7", "WORKER_SLOTS": "16", "LEASE": "30s"}
	got, err := farmfile.Load("testdata/good/everything.yaml", farmfile.Options{
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	const dollar = 1_000_000 // a dollar for a million tokens
	want := &farmfile.File{
		Values: map[string]farmfile.Value{
			"redis":           {Text: "redis://farm:${{ secrets.REDIS_PASSWORD }}@queue:6379/1", Written: "testdata/good/everything.yaml:4:8"},
			"store":           {Text: filepath.Join(folder, "state/farm.db"), Written: "testdata/good/everything.yaml:5:8"},
			"listen":          {Text: "0.0.0.0:8090", Written: "testdata/good/everything.yaml:6:9"},
			"blobs":           {Text: "http://scheduler:8090", Written: "testdata/good/everything.yaml:7:8"},
			"token_file":      {Text: "/run/secrets/token", Written: "testdata/good/everything.yaml:8:13"},
			"slots":           {Text: "16", Written: "testdata/good/everything.yaml:9:8"},
			"judge_slots":     {Text: "4", Written: "testdata/good/everything.yaml:10:14"},
			"lease":           {Text: "30s", Written: "testdata/good/everything.yaml:11:8"},
			"grace":           {Text: "2m", Written: "testdata/good/everything.yaml:12:8"},
			"attempts":        {Text: "5", Written: "testdata/good/everything.yaml:13:11"},
			"log.level":       {Text: "info", Written: "testdata/good/everything.yaml:14:14"},
			"log.format":      {Text: "json", Written: "testdata/good/everything.yaml:14:28"},
			"retention.runs":  {Text: "90d", Written: "testdata/good/everything.yaml:15:19"},
			"budgets.day_usd": {Text: "200", Written: "testdata/good/everything.yaml:33:20"},
			"confirm_usd":     {Text: "2.5", Written: "testdata/good/everything.yaml:34:14"},

			"telemetry.content":   {Text: "true", Written: "testdata/good/everything.yaml:36:12"},
			"telemetry.slow":      {Text: "90s", Written: "testdata/good/everything.yaml:37:9"},
			"telemetry.trace_url": {Text: "https://jaeger.example/trace/{trace_id}", Written: "testdata/good/everything.yaml:38:14"},
		},
		Servers: map[string]eval.Server{
			"desk-prod": {
				Command: []string{"npx", "-y", "desk"}, Env: map[string]string{"KEY": "${{ secrets.DESK_KEY }}"}, Dir: "/srv/desk",
				StartTimeout: time.Minute, Isolation: eval.IsolationShared, Revision: "7",
			},
			"search": {URL: "https://search.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${{ secrets.SEARCH }}"}},
		},
		Providers: []farmfile.Provider{
			{
				Name: "anthropic", Provider: eval.ProviderAnthropic,
				APIKeys: []string{"${{ secrets.ANTHROPIC_API_KEY }}", "${{ secrets.ANTHROPIC_API_KEY_2 }}"},
				Rate: &eval.Rate{
					RequestsPerMinute: 50, InputTokensPerMinute: 40000, OutputTokensPerMinute: 8000, Concurrent: 20,
					Judge: &eval.Rate{RequestsPerMinute: 5},
				},
				Models: []farmfile.Model{
					{Name: "claude-haiku-4-5", Price: &eval.Price{
						TokenPrice: eval.TokenPrice{Input: dollar, CacheRead: dollar / 10, CacheWrite: 5 * dollar / 4, CacheWrite1H: 2 * dollar, Output: 5 * dollar, Reasoning: 5 * dollar},
						Tiers: []eval.PriceTier{{Over: 200000, TokenPrice: eval.TokenPrice{
							Input: 2 * dollar, CacheRead: 2 * dollar, CacheWrite: 2 * dollar, CacheWrite1H: 2 * dollar, Output: 10 * dollar, Reasoning: 10 * dollar,
						}}},
						From: "farm",
					}},
					{Name: "claude-haiku-*", Rate: &eval.Rate{RequestsPerMinute: 100, Pool: "claude-haiku-*"}, PriceOverride: &eval.PriceOverride{Factor: 500_000}},
					{Name: "*", PriceOverride: &eval.PriceOverride{Like: "anthropic/claude-opus-5", Factor: 1_100_000}},
				},
			},
			{
				Name: "our-gpus", Provider: eval.ProviderOpenAI, BaseURL: "http://gpu-7:8000/v1", Rate: &eval.Rate{TokensPerMinute: 500000},
				Models: []farmfile.Model{{Name: "*", Price: &eval.Price{From: "farm"}}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("file differs (-want +got):\n%s", diff)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := farmfile.Load(filepath.Join(dir, "farm.yaml"), farmfile.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
	if _, err := farmfile.Load(dir, farmfile.Options{}); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v, want that a folder is no file", err)
	}
}

func TestBaseShortensTheNameOfTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte("version: 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]string{dir: " in farm.yaml\n", filepath.Join(dir, "below"): " in " + dir} {
		if _, err := farmfile.Load(filepath.Join(dir, "farm.yaml"), farmfile.Options{Base: base}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want%s", err, want)
		}
	}
}
