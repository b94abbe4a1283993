package farmfile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Parsing never panics, and a file that is good is the same when it is written as
// JSON. Using it never panics either.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := farmfile.Parse("farm.yaml", text, farmfile.Options{})
		if err != nil {
			_ = err.Error()
			return
		}
		n, problems := strictyaml.Parse("farm.yaml", text)
		if n == nil {
			t.Fatalf("parsed, and now cannot be: %v", problems)
		}
		again, err := farmfile.Parse("farm.json", n.JSON(), farmfile.Options{})
		if err != nil {
			t.Fatalf("%s does not parse: %v", n.JSON(), err)
		}
		file.Warnings, again.Warnings = nil, nil
		for _, f := range []*farmfile.File{file, again} {
			for name, v := range f.Values {
				f.Values[name] = farmfile.Value{Text: v.Text}
			}
		}
		if diff := cmp.Diff(file, again); diff != "" {
			t.Errorf("got another file from %s: %s", n.JSON(), diff)
		}
		models := map[string]eval.Model{}
		for _, p := range file.Providers {
			models[p.Name] = eval.Model{Provider: p.Provider, BaseURL: p.BaseURL, Model: "claude-haiku-4-5"}
		}
		file.Apply(models)
		farmfile.Resolve(models, list{}, time.Time{})
		for name, m := range models {
			if m.PriceOverride != nil || m.Price != nil && m.Price.Cost(eval.Usage{Input: 1 << 20, Output: 1 << 20}) < 0 {
				t.Errorf("%s: got %+v, want a price", name, m)
			}
		}
	})
}
