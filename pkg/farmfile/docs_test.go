package farmfile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

var yamlFenceRE = regexp.MustCompile("(?ms)^```yaml\n(version:.*?)^```$")

// The files of the pages that explain them load without a warning, and are good
// for editors too.
func TestFilesOfTheDocs(t *testing.T) {
	for _, page := range []string{"farmfile.md", "notifications.md", "observability.md"} {
		found := yamlFenceRE.FindAllSubmatch(content(t, "../../docs/"+page), -1)
		if len(found) == 0 {
			t.Fatalf("got no file in %s, want some", page)
		}
		for _, m := range found {
			f, err := farmfile.Parse("farm.yaml", m[1], farmfile.Options{})
			if err != nil {
				t.Errorf("it does not load\n%s\n%v", m[1], err)
				continue
			}
			for _, p := range f.Warnings {
				t.Errorf("got %s", p.Render())
			}
			if err := fits(t, "farm.yaml", m[1]); err != nil {
				t.Errorf("the schema refuses\n%s\n%v", m[1], err)
			}
		}
	}
}

// The table of the docs is the table of the code.
func TestSettingsOfTheDocs(t *testing.T) {
	const file = "../../docs/farmfile.md"
	const begin, end = "<!-- settings: written by go test ./pkg/farmfile -update -->\n", "<!-- end of settings -->"
	var b strings.Builder
	b.WriteString("| key | variable | flag | meaning | default |\n|---|---|---|---|---|\n")
	for _, s := range farmfile.Settings() {
		key, flag, standard := "", "", s.Default
		if s.InFile {
			key = "`" + s.Name + "`"
		}
		if s.Services {
			key += " ◇"
		}
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		if standard == "" {
			standard = "none"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", key, s.Variable, flag, s.Meaning, standard)
	}
	page := string(content(t, file))
	before, rest, ok := strings.Cut(page, begin)
	have, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the settings", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+b.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(have, b.String()); diff != "" {
		t.Errorf("the settings of the docs differ; run go test ./pkg/farmfile -update (-docs +code):\n%s", diff)
	}
}

// The example loads without a warning, fits the schema and speaks of every key.
func TestExampleOfTheDocs(t *testing.T) {
	const file = "../../docs/farm.example.yaml"
	f, err := farmfile.Load(file, farmfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Warnings {
		t.Errorf("got %s", p.Render())
	}
	text := content(t, file)
	if err := fits(t, file, text); err != nil {
		t.Errorf("the schema refuses it: %v", err)
	}
	raw, err := farmfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				for key := range properties {
					keys++
					if !regexp.MustCompile(`(?m)(^|[\s{,])` + key + `:`).Match(text) {
						t.Errorf("it does not speak of %s", key)
					}
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(schema)
	if keys < 40 {
		t.Errorf("got %d keys, want all", keys)
	}
}
