package notify_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func hook(url string) eval.Target {
	return eval.Target{Name: "hook", Webhook: &eval.Webhook{URL: url, Secret: "${{ secrets.S }}"}, Link: "https://farm.example/{suite}/runs/{run}"}
}

// verify checks a request as a receiver would, with the library of Standard
// Webhooks.
func verify(t *testing.T, req *http.Request, body []byte) {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.VerifyIgnoringTimestamp(body, req.Header); err != nil {
		t.Errorf("a receiver refuses it: %v", err)
	}
}

func TestWebhook(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, hook(to.URL+"/hook?team=desk"))
	r.end(summary("r-1"))
	if ns := r.deliver(); len(ns) != 1 || ns[0].State != store.NoticeSent {
		t.Fatalf("got %+v, want one that is sent", ns)
	}
	reqs, bodies := to.requests()
	req := reqs[0]
	verify(t, req, bodies[0])
	if req.Method != http.MethodPost || req.URL.String() != "/hook?team=desk" || req.Header.Get("Content-Type") != "application/json" ||
		req.Header.Get("User-Agent") != "evalfarm/test" || req.Header.Get("webhook-timestamp") != strconv.FormatInt(r.now.Unix(), 10) {
		t.Errorf("got %s %s with %v", req.Method, req.URL, req.Header)
	}
	const want = `{
	  "type": "run.finished", "timestamp": "2026-03-01T02:00:00Z",
	  "data": {
	    "run": "r-1", "suite": "nightly-desk", "outcome": "complete", "verdict": "fail", "exit_code": 1, "trials": 4,
	    "kinds": {"script": {
	      "counts": {"pass": 3, "fail": 1, "error": 0, "unjudged": 0, "unfinished": 0, "skipped": 0},
	      "pass_rate": {"value": 0.75, "low": 0.3, "high": 0.95, "n": 4}}},
	    "cost_microusd": 1230000, "duration_ms": 80000, "started": "2026-03-01T01:58:40Z", "finished": "2026-03-01T02:00:00Z",
	    "reasons": ["NO GATE: script: 1 of 4 failed"],
	    "failures": [{"case": "order/lost", "variant": "big", "verdict": "fail", "reason": "mismatch",
	      "message": "status: want lost, got <b>shipped</b> & paid",
	      "trace_url": "https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736?a=1&b=|"}],
	    "failed_cells": 1, "commit": "0123456789abcdef0123456789abcdef01234567", "url": "https://farm.example/nightly-desk/runs/r-1"
	  }}`
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, bodies[0])); diff != "" {
		t.Errorf("payload differs (-want +got):\n%s", diff)
	}
}

// The id is that of the run and the target in every try, and of no other.
func TestWebhookID(t *testing.T) {
	to := newReceiver(t, answer(503, ""), answer(503, ""))
	second := hook(to.URL)
	second.Name = "second"
	r := newRig(t, hook(to.URL), second)
	r.end(summary("r-1"))
	r.deliver() // both fail
	r.end(summary("r-2"))
	r.now = r.now.Add(time.Minute)
	r.deliver()
	ids := map[string]int{}
	reqs, bodies := to.requests()
	for i, req := range reqs {
		verify(t, req, bodies[i])
		ids[req.Header.Get("webhook-id")]++
	}
	tries := map[int]int{}
	for _, n := range ids {
		tries[n]++
	}
	if len(reqs) != 6 || tries[1] != 2 || tries[2] != 2 {
		t.Errorf("got the ids %v in %d requests, want two tried twice and two once", ids, len(reqs))
	}
}

func TestWebhookWithoutAGoodSecret(t *testing.T) {
	to := newReceiver(t)
	for name, test := range map[string]struct {
		secrets map[string]string
		state   store.NoticeState
		message string
	}{
		"none":       {nil, store.NoticeWaiting, "there is no secret S"}, // it may be there tomorrow
		"no whsec":   {map[string]string{"S": "hunter2hunter2"}, store.NoticeFailed, "the webhook's secret is none: want whsec_ and the base64 of 24 to 64 bytes"},
		"with a tab": {map[string]string{"S": "\t" + secret + "\n"}, store.NoticeSent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, hook(to.URL))
			r.secrets = test.secrets
			r.end(summary("r-1"))
			r.deliver()
			if n := r.one(); n.State != test.state || n.Message != test.message {
				t.Errorf("got %+v, want %s: %s", n, test.state, test.message)
			}
		})
	}
}

// Whatever is said in a run, a payload is JSON, bounded and harmless.
func TestHostileTextInAWebhook(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, hook(to.URL))
	for i, s := range hostile(t) {
		r.end(told("r-"+strconv.Itoa(i), s))
		if ns := r.deliver(); ns[0].State != store.NoticeSent {
			t.Fatalf("%.80q: got %+v, want it sent", s, ns)
		}
		reqs, bodies := to.requests()
		verify(t, reqs[i], bodies[i])
		if len(bodies[i]) > 20_000 {
			t.Errorf("%.80q: got %d bytes, want at most 20,000", s, len(bodies[i]))
		}
		for _, text := range texts(decode(t, bodies[i])) {
			harmless(t, text)
		}
	}
}

func TestLongRunsAreCut(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, hook(to.URL))
	r.targets[0].Link += strings.Repeat("x", 2000)
	s := told("r-1", "x")
	s.Cells[0].Failure.Verdict = eval.Error // goes behind what failed
	s.Cells[1].Failure.Message, s.Cells[1].Failure.Scores = "", []eval.Score{{Message: "the score's"}}
	r.end(s)
	r.deliver()
	_, bodies := to.requests()
	var got struct {
		Data struct {
			Reasons     []string
			Failures    []struct{ Verdict, Message string }
			FailedCells int `json:"failed_cells"`
			URL         string
		}
	}
	if err := json.Unmarshal(bodies[0], &got); err != nil {
		t.Fatal(err)
	}
	d := got.Data
	if len(d.Reasons) != 5 || len(d.Failures) != 5 || d.FailedCells != 8 || d.Failures[0].Verdict != "fail" || d.Failures[0].Message != "the score's" || d.URL != "" {
		t.Errorf("got %+v, want five of each, what failed first, and no cut address", d)
	}
}

func TestNamesInALinkAreEscaped(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, hook(to.URL))
	r.targets[0].Link = "https://farm.example/?s={suite}&r={run}"
	r.end(told("r-1", "a&admin=1#/ b"))
	r.deliver()
	_, bodies := to.requests()
	if got := decode(t, bodies[0])["data"].(map[string]any)["url"]; got != "https://farm.example/?s=a%26admin%3D1%23%2F%20b&r=r-1" {
		t.Errorf("got %v, want the suite's name escaped", got)
	}
}
