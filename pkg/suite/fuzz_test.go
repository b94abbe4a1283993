package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// Loading never panics, and a suite that loads is the same suite when it is
// written as JSON.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob("testdata/corpus/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		if ext := filepath.Ext(name); ext == ".yaml" || ext == ".json" {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	dir := f.TempDir()
	yaml, canonical := filepath.Join(dir, "yaml", "x.yaml"), filepath.Join(dir, "json", "x.json")
	for _, path := range []string{yaml, canonical} {
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		loaded, ok := reload(t, yaml, text)
		if !ok {
			return
		}
		n, problems := strictyaml.Parse(yaml, text)
		if n == nil {
			t.Fatalf("loaded, and now cannot be parsed: %v", problems)
		}
		again, ok := reload(t, canonical, n.JSON())
		if !ok || again.Hash != loaded.Hash {
			t.Errorf("got another suite from %s", n.JSON())
		}
	})
}

// The files of others never make the loader panic, and what loads is the same
// suite when it is written as JSON.
func FuzzForeign(f *testing.F) {
	ours := strings.NewReplacer("__proxy__", "__s__", "__other_one__", "__s__").Replace(scenario)
	for _, text := range []string{ours, fixture, golden} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	yaml, canonical, with := filepath.Join(dir, "yaml", "x.yaml"), filepath.Join(dir, "json", "x.json"), filepath.Join(dir, "with.yaml")
	for _, path := range []string{yaml, canonical} {
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	text := "version: 1\nservers: {s: {command: [srv]}}\nmodels: {m: {provider: openai, model: x}}\ndefaults: {server: s}\n"
	if err := os.WriteFile(with, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
	opts := options()
	opts.With, opts.Servers = with, []string{"s=srv"}
	f.Fuzz(func(t *testing.T, text []byte) {
		loaded, ok := reloadWith(t, yaml, text, opts)
		if !ok {
			return
		}
		n, _ := strictyaml.Parse(yaml, text)
		again, ok := reloadWith(t, canonical, n.JSON(), opts)
		if !ok || again.Hash != loaded.Hash {
			t.Errorf("got another suite from %s", n.JSON())
		}
	})
}

// reload writes a file and loads it. Errors are rendered, since that must not
// panic either.
func reload(t *testing.T, path string, text []byte) (*suite.Loaded, bool) {
	t.Helper()
	return reloadWith(t, path, text, options())
}

func reloadWith(t *testing.T, path string, text []byte, opts suite.Options) (*suite.Loaded, bool) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, err := suite.Load(path, opts)
	if err != nil {
		_ = err.Error()
		return nil, false
	}
	for _, p := range append(loaded.Warnings, loaded.Unsupported...) {
		_ = p.Render()
	}
	if _, err := suite.Expand(&loaded.Suite, suite.Selection{}); err != nil {
		_ = err.Error()
	}
	return loaded, true
}
