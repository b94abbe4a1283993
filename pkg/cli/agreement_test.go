package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Reviews in the store of a farm are frozen into the runs of who sends a suite over its
// API.
func TestReviewsOverTheAPI(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.file("farm.yaml", farmYAML)
	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	l := laptop(t, at)
	for _, m := range []*shop{s, l} {
		m.below("reviewed/agent.yaml", "version: 1\ndefault: [{say: It is here.}]\n")
		m.below("reviewed/judge.yaml", "version: 1\ndefault: [{call: verdict, arguments: {pass: true, reason: Good.}}]\n")
		m.below("reviewed/suite.yaml", `version: 1
name: reviewed
servers: {shop: {registered: acme}}
models: {agent: {provider: scripted, script: agent.yaml}, judge: {provider: scripted, script: judge.yaml}}
defaults: {server: shop, model: agent, judge: judge}
repeats: 2
gate: {judge_agreement: ">= 0.5"}
cases: [{id: a, prompt: Where is it, checks: [{judge: {rubric: It is kind.}}]}]
`)
	}
	var first eval.Summary
	s.json(&first, 0, "run", "reviewed/suite.yaml", "--json", "--progress", "none")
	if out, err := s.shell("printf 'n\\nn\\n' | evalfarm review " + first.Run + " --all --reviewer ann"); err != nil {
		t.Fatalf("review: %v\n%s", err, out)
	}
	id := strings.TrimSpace(l.must(0, "enqueue", "reviewed/suite.yaml"))
	stopped(t, sched)
	db, err := app.Config{Home: filepath.Join(s.dir, "home")}.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run, err := db.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(t.Context(), db, run.Header, &snap); err != nil {
		t.Fatal(err)
	}
	if a := snap.Agreement; a == nil || a.Run != first.Run || a.N != 2 {
		got, _ := json.Marshal(a)
		t.Errorf("the run that was sent has frozen %s, want the two reviews of %s", got, first.Run)
	}
}
