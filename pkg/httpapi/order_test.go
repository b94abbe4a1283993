package httpapi_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// Files travel once: what the farm has is not sent again. Nothing is left of them
// beside the blobs.
func TestFilesTravelOnce(t *testing.T) {
	r := serve(t)
	o, content := order(shopSuite())
	sent := 0
	counting := func(sha256 string) (eval.Blob, bool) {
		sent++
		return content(sha256)
	}
	for range 2 {
		if _, err := r.client(token).Create(t.Context(), o, counting); err != nil {
			t.Fatal(err)
		}
	}
	if sent != 2 {
		t.Errorf("%d files were sent, want each of the two once", sent)
	}
	if _, err := os.Stat(r.delivered.Dir); r.delivered.Dir == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the delivery: %v, want it gone", err)
	}
}

// A policy is sent beside the suite, and decides in the place of its gate.
func TestPolicyTravels(t *testing.T) {
	r := serve(t)
	o, content := order(shopSuite())
	policy := blob.Pack([]byte("pass_rate: {script: \">= 0.5\"}\n"))
	o.Gate = &httpapi.Sources{Path: "rules/policy.yaml", Files: []httpapi.SourceFile{{Path: "rules/policy.yaml", SHA256: policy.SHA256}}}
	both := func(sha256 string) (eval.Blob, bool) {
		if sha256 == policy.SHA256 {
			return policy, true
		}
		return content(sha256)
	}
	run, err := r.client(token).Create(t.Context(), o, both)
	if err != nil {
		t.Fatal(err)
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(t.Context(), r.store, run.Header, &snap); err != nil {
		t.Fatal(err)
	}
	if len(snap.Gate.Rules) != 1 || snap.Gate.Rules[0].Bound != 0.5 {
		t.Errorf("got gate %+v, want that of the policy", snap.Gate)
	}
	o.Gate.Path = "rules/other.yaml"
	if _, err := r.client(token).Create(t.Context(), o, both); err == nil || !strings.Contains(err.Error(), "file of the gate") {
		t.Errorf("a policy that is none of its files: got %v, want an error", err)
	}
}

// No file of the farm's machine is read for an order, and none is written outside of
// its folder.
func TestHostileOrders(t *testing.T) {
	r := serve(t)
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte("version: 1\ncases: []\nnever-shown: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{
		"above":              "../suite.yaml",
		"above in the end":   "shop/../../suite.yaml",
		"above and back":     "shop/../shop/x.yaml",
		"whole":              secret,
		"nothing":            "",
		"the folder":         ".",
		"with a dot":         "./suite.yaml",
		"a folder":           "shop/",
		"two slashes":        "shop//x.yaml",
		"with a zero":        "shop/x\x00.yaml",
		"a file of its file": "shop/suite.yaml/x.yaml",
		"the same twice":     "shop/suite.yaml",
	}
	for name, path := range paths {
		t.Run("a file "+name, func(t *testing.T) {
			o, content := order(shopSuite())
			o.Suite.Files = append(o.Suite.Files, httpapi.SourceFile{Path: path, SHA256: o.Suite.Files[0].SHA256})
			refusedOrder(t, r, o, content)
		})
		if name == "the same twice" {
			continue
		}
		t.Run("a suite "+name, func(t *testing.T) {
			o, content := order(shopSuite())
			o.Suite.Path = path
			refusedOrder(t, r, o, content)
		})
	}
	for name, sha256 := range map[string]string{
		"that is no hash": "abc", "with a path": "../../" + strings.Repeat("a", 58), "in capitals and too long": strings.Repeat("AB", 33),
	} {
		t.Run("a sha256 "+name, func(t *testing.T) {
			o, content := order(shopSuite())
			o.Suite.Files[0].SHA256 = sha256
			refusedOrder(t, r, o, content)
		})
	}
	for name, text := range map[string]string{
		"includes a whole path":   "include: [" + secret + "]",
		"includes from above":     "include: [../../../../../../../.." + secret + "]",
		"extends a whole path":    "extends: " + secret,
		"extends from above":      "extends: ../../with/suite.yaml",
		"fills in from above":     "cases: [{id: a, prompt: 'file://../../../../../../../.." + secret + "'}]",
		"has rows from above":     "include: [{dataset: ../../../../.." + secret + ", id: x, case: {call: a}}]",
		"has a policy from above": "models: {m: {provider: scripted, script: ../../../../../.." + secret + "}}",
	} {
		t.Run("a suite that "+name, func(t *testing.T) {
			o, content := order(map[string]string{"shop/suite.yaml": "version: 1\nservers: {shop: {registered: shop}}\n" + text + "\n"})
			_, err := r.client(token).Create(t.Context(), o, content)
			problems, ok := errors.AsType[*suite.ProblemsError](err)
			if !ok || !strings.Contains(problems.Error(), "leaves the project folder") || strings.Contains(problems.Error(), "never-shown") {
				t.Errorf("got %v, want that the path leaves the project", err)
			}
		})
	}
	// A blob that is a link, a pipe or the like cannot be: what is unpacked are plain files.
	large, content := order(map[string]string{"shop/suite.yaml": strings.Repeat("#", 6<<20)})
	if _, err := r.client(token).Create(t.Context(), large, content); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a file of 6 MiB: got %v, want that it is too large", err)
	}
	many, content := order(shopSuite())
	for i := range 5001 {
		many.Suite.Files = append(many.Suite.Files, httpapi.SourceFile{Path: "shop/" + itoa(int64(i)), SHA256: many.Suite.Files[0].SHA256})
	}
	if _, err := r.client(token).Create(t.Context(), many, content); err == nil || !strings.Contains(err.Error(), "5003 files") {
		t.Errorf("5003 files: got %v, want that there are too many", err)
	}
	if runs, err := r.store.ListRuns(t.Context(), store.RunFilter{}); err != nil || len(runs) > 0 {
		t.Errorf("there are %d runs (%v), want none", len(runs), err)
	}
}

// refusedOrder wants an order to be refused before anything of it is looked at.
func refusedOrder(t *testing.T, r *rig, o httpapi.Order, content func(string) (eval.Blob, bool)) {
	t.Helper()
	r.delivered = httpapi.Delivery{}
	_, err := r.client(token).Create(t.Context(), o, content)
	if _, ok := errors.AsType[*scheduler.RefusedError](err); !ok || r.delivered.Dir != "" {
		t.Errorf("got %v, want it refused", err)
	}
}

// An order that the client did not make, with files that are not there.
func TestMissingFiles(t *testing.T) {
	r := serve(t)
	sha256 := blob.Pack([]byte("nobody has sent this")).SHA256
	code, body, _ := r.do(http.MethodPost, httpapi.RunsPath, token, `{"suite":{"path":"a.yaml","files":[{"path":"a.yaml","sha256":"`+sha256+`"}]}}`)
	if code != 409 || !strings.Contains(body, `"missing":["`+sha256+`"]`) {
		t.Errorf("got %d %s, want 409 and what is missing", code, body)
	}
	o, _ := order(shopSuite())
	if _, err := r.client(token).Create(t.Context(), o, func(string) (eval.Blob, bool) { return eval.Blob{}, false }); err == nil || !strings.Contains(err.Error(), "wants a file that is not of the suite") {
		t.Errorf("a client without the files: got %v, want an error", err)
	}
}
