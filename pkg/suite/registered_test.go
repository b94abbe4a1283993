package suite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// What runs is the operator's, how long it may take is the suite's.
func TestARegisteredServer(t *testing.T) {
	got, err := suite.Load("testdata/corpus/good/registered.yaml", options())
	if err != nil {
		t.Fatal(err)
	}
	want := eval.Server{
		Command: []string{"desk", "--prod"}, Env: map[string]string{"KEY": "${{ secrets.DESK }}"}, Revision: "7",
		StartTimeout: time.Minute, CallTimeout: 5 * time.Second, Isolation: eval.IsolationTrial, UnderTest: true,
	}
	if diff := cmp.Diff(want, got.Suite.Servers["desk"]); diff != "" {
		t.Errorf("server differs (-want +got):\n%s", diff)
	}
}

// Another server under the same name is another suite.
func TestTheHashKnowsWhatIsRegistered(t *testing.T) {
	o := options()
	before, err := suite.Load("testdata/corpus/good/registered.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	o.Registered = map[string]eval.Server{"desk-prod": {URL: "https://desk.example.com/mcp"}}
	after, err := suite.Load("testdata/corpus/good/registered.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	if before.Hash == after.Hash {
		t.Errorf("got the hash %s twice, want two", before.Hash)
	}
}

func TestAFarmWithoutRegisteredServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "suite.yaml")
	text := "version: 1\nservers: {desk: {registered: desk-prod}}\ncases: [{id: a, call: t}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := suite.Load(file, suite.Options{})
	problems, ok := errors.AsType[*suite.ProblemsError](err)
	if !ok || !strings.Contains(problems.Error(), "the farm has none: they stand under servers in farm.yaml") {
		t.Errorf("got %v, want that there are none", err)
	}
	o := suite.Options{Servers: []string{"desk=http://127.0.0.1:1/mcp"}}
	if _, err := suite.Load(file, o); err != nil {
		t.Errorf("got %v, want that --server takes its place", err)
	}
	if found, err := suite.Find(filepath.Dir(file)); err != nil || len(found) != 1 || found[0].Err != nil {
		t.Errorf("got %+v, %v, want one sound suite in the list", found, err)
	}
}
