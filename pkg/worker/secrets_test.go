package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// everything is all that leaves the worker with a record, and all that it stored.
func (b *bundle) everything(r eval.Record) string {
	b.t.Helper()
	all := string(eval.Encode(r))
	blobs := r.Blobs
	b.memory.mu.Lock()
	for _, stored := range b.memory.blobs {
		blobs = append(blobs, stored)
	}
	b.memory.mu.Unlock()
	for _, packed := range blobs {
		raw, err := blob.Unpack(packed)
		if err != nil {
			b.t.Fatal(err)
		}
		all += string(raw)
	}
	return all
}

// vault knows a secret of a value of its own for every name.
func vault(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
	o.Secret = func(name string) (string, error) { return planted(name), nil }
}

func planted(name string) string { return "s3cr3t-of-" + strings.ToLower(name) }

// leaky is a model that says its own key and header, as an echo of its requests
// would, and writes them into a call.
func leaky(_ context.Context, req llm.Request) (llm.Response, error) {
	if len(req.Messages) > 1 {
		return says(strings.Repeat("x", 250) + planted("KEY") + " and " + planted("TEAM")), nil
	}
	r := calls("getCustomerStatus", `{"customerId":"`+planted("KEY")+`"}`)
	r.Message.Reasoning = "my key is " + planted("KEY")
	return r, nil
}

// Secrets of models, servers, their headers and axis points are planted where they
// can come back, and are nowhere in what leaves the worker.
func TestSecretsOfAnAgentNeverLeaveTheWorker(t *testing.T) {
	c := conversation(
		contains("nothing of the kind"), // fails, and shows what was said
		eval.Check{ID: "scorer", Scorer: &eval.ScorerCheck{Command: []string{"./scorer.sh"}}},
		eval.Check{ID: "verify", Verify: &eval.VerifyCheck{Command: []string{"./verify.sh"}, Env: map[string]string{"TOKEN": "of no account"}}},
	)
	var dir string
	b := setup(t, []eval.Case{c}, vault, func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		server := s.Servers["acme"]
		server.Env = map[string]string{"TOKEN": "${{ secrets.NOBODY }}"}
		s.Servers["acme"] = server
		s.Axes = []eval.Axis{{Name: "identity", Points: []eval.Point{{Value: "admin", Env: map[string]string{"TOKEN": "${{ secrets.ADMIN }}"}}}}}
		s.Variants = []eval.Variant{eval.NewVariant(map[string]string{"identity": "admin"})}
		s.Models = map[string]eval.Model{"agent": {APIKey: "${{ secrets.KEY }}", Headers: map[string]string{"X-Team": "${{ secrets.TEAM }}"}}}
		dir = s.Dir
	}, declared(map[string]modelFunc{"agent": leaky}))
	// A scorer that gives back all that it is told, and looks for more.
	script(t, dir, "scorer.sh", `cat >&2; env >&2; exit 1`)
	script(t, dir, "verify.sh", `env; exit 1`)

	r := b.do(1)[0]
	if r.Outcome != eval.AttemptDone || r.Result.Reason != eval.ReasonScorerFailed || len(r.Result.Scores) != 3 {
		t.Fatalf("got %s, %s, %s, %d scores; want three, and the scorer at fault", r.Outcome, r.Result.Reason, r.Result.Message, len(r.Result.Scores))
	}
	all := b.everything(r)
	for _, name := range []string{"KEY", "TEAM", "ADMIN"} {
		if !strings.Contains(all, "[secret "+name+"]") {
			t.Errorf("the secret %s never came back: the test plants it where nobody sees it", name)
		}
	}
	if strings.Contains(all, "s3cr3t") {
		t.Error("a piece of a secret is in what the worker hands on")
	}
	var tr eval.Trajectory
	b.kept(r, r.Result.Trajectory, &tr)
	if tr.Hash() != r.Result.TrajectoryHash {
		t.Error("the hash is that of a trajectory with its secrets")
	}
	if r.Result.Frames == "" {
		t.Error("no frames were kept")
	}
}

func script(t *testing.T, dir, name, line string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A panic of ours is a failure of the farm; what it says is cleaned like all else.
func TestPanicIsAFailureOfTheFarm(t *testing.T) {
	tests := []struct {
		name string
		set  option
	}{
		{"in the model", func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			declared(map[string]modelFunc{"agent": func(context.Context, llm.Request) (llm.Response, error) { panic("lost " + planted("KEY")) }})(o, s, cs)
		}},
		{"in the lookup of a secret", func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			declared(map[string]modelFunc{"agent": moving()})(o, s, cs)
			s.Servers["acme"] = eval.Server{Command: []string{"${{ secrets.SERVER }}"}}
			o.Secret = func(name string) (string, error) {
				if name == "SERVER" {
					panic("lost " + planted("KEY"))
				}
				return planted(name), nil
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, []eval.Case{conversation()}, vault, func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
				s.Models = map[string]eval.Model{"agent": {APIKey: "${{ secrets.KEY }}"}}
			}, tt.set)
			r := b.do(1)[0]
			if r.Outcome != eval.AttemptFailed || r.Result.Reason != eval.ReasonFarm || r.Result.Message != "panic: lost [secret KEY]" {
				t.Errorf("got %s, %s, %q; want a failed attempt of the farm without the key", r.Outcome, r.Result.Reason, r.Result.Message)
			}
		})
	}
}
