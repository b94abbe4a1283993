package suite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

var update = flag.Bool("update", false, "write what is got over what is wanted")

// options are complete: every check that other packages lend is on.
func options() suite.Options {
	env := map[string]string{"EVIL": "${{ secrets.X }}"}
	return suite.Options{
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Rules:     []string{"input_schema_object", "descriptions"},
		Profiles:  []string{"bare", "full"},
		Registered: map[string]eval.Server{"desk-prod": {
			Command: []string{"desk", "--prod"}, Env: map[string]string{"KEY": "${{ secrets.DESK }}"}, Revision: "7", StartTimeout: time.Minute,
		}},
	}
}

func corpus(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	for _, ext := range []string{"yaml", "json"} {
		found, err := filepath.Glob(filepath.Join("testdata", "corpus", folder, "*."+ext))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no files in corpus %s", folder)
	}
	return files
}

// editorSchema is the schema as an editor sees it.
func editorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := suite.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("suite.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("suite.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a suite file as a JSON document.
func asJSON(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, problems := strictyaml.Parse(file, text)
	for _, p := range problems {
		if !p.Warning {
			t.Fatal(p.Render())
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(n.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestGoodFilesLoadAndFitTheSchema(t *testing.T) {
	schema := editorSchema(t)
	for _, file := range corpus(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, err := suite.Load(file, options()); err != nil {
				t.Errorf("the loader refuses it:\n%v", err)
			}
			if err := schema.Validate(asJSON(t, file)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		})
	}
}

// The suites that ship are good for editors too.
func TestShippedSuitesFitTheSchema(t *testing.T) {
	schema := editorSchema(t)
	files, err := filepath.Glob("../../suites/*/suite.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v and %d suites, want some", err, len(files))
	}
	for _, file := range files {
		if err := schema.Validate(asJSON(t, file)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", file, err)
		}
	}
}

func TestBadFilesFitNeitherLoaderNorSchema(t *testing.T) {
	schema := editorSchema(t)
	for _, file := range corpus(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			wantProblems(t, file)
			if err := schema.Validate(asJSON(t, file)); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// What needs the whole suite, or is wrong below the level of JSON, no schema can
// find.
func TestOnlyTheLoaderFinds(t *testing.T) {
	for _, folder := range []string{"bad-semantics", "bad-yaml"} {
		for _, file := range corpus(t, folder) {
			t.Run(folder+"/"+filepath.Base(file), func(t *testing.T) { wantProblems(t, file) })
		}
	}
}

// wantProblems compares what loading a file reports with its .want file.
func wantProblems(t *testing.T, file string) {
	t.Helper()
	_, err := suite.Load(file, options())
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
	text, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

// The committed schema is the one that the structs give.
func TestCommittedSchema(t *testing.T) {
	const file = "../../schema/suite.schema.json"
	got, err := suite.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the schema differs; run go test ./pkg/suite -update (-want +got):\n%s", diff)
	}
}

// Every key of the schema says what it is for.
func TestSchemaDescribesEveryKey(t *testing.T) {
	text, err := suite.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
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
