package notify_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func TestSlack(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, eval.Target{Name: "team", Slack: &eval.Slack{URL: to.URL}, Link: "https://farm.example/?run={run}&x=|1"})
	r.end(summary("r-1"))
	r.deliver()
	_, bodies := to.requests()
	const want = `{
	  "text": "FAIL nightly-desk, script 3/4 pass, 1m20s, $1.23",
	  "blocks": [
	    {"type": "header", "text": {"type": "plain_text", "text": "FAIL nightly-desk, script 3/4 pass, 1m20s, $1.23"}},
	    {"type": "section", "text": {"type": "plain_text", "text": "script: 75.0 % [30.0, 95.0] of 4 passed, 1 fail"}},
	    {"type": "section", "text": {"type": "plain_text", "text": "NO GATE: script: 1 of 4 failed"}},
	    {"type": "section", "text": {"type": "plain_text", "text": "fail order/lost [big]: mismatch: status: want lost, got &lt;b&gt;shipped&lt;/b&gt; &amp; paid"}},
	    {"type": "context", "elements": [
	      {"type": "mrkdwn", "text": "<https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736?a=1&amp;b=%7C|Open the trace>", "verbatim": true}]},
	    {"type": "context", "elements": [
	      {"type": "plain_text", "text": "r-1, 1m20s, $1.23"},
	      {"type": "mrkdwn", "text": "<https://farm.example/?run=r-1&amp;x=%7C1|Open the run>", "verbatim": true}]}
	  ]}`
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, bodies[0])); diff != "" {
		t.Errorf("message differs (-want +got):\n%s", diff)
	}
}

// No text makes a mention or a link, and none is longer than Slack takes.
func TestHostileTextInSlack(t *testing.T) {
	type text struct{ Type, Text string }
	to := newReceiver(t)
	r := newRig(t, eval.Target{Name: "team", Slack: &eval.Slack{URL: to.URL}})
	for i, s := range hostile(t) {
		r.end(told("r-"+strconv.Itoa(i), s))
		if ns := r.deliver(); ns[0].State != store.NoticeSent {
			t.Fatalf("%.80q: got %+v, want it sent", s, ns)
		}
		_, bodies := to.requests()
		var got struct {
			Text   string
			Blocks []struct {
				Type     string
				Text     *text
				Elements []text
			}
		}
		if err := json.Unmarshal(bodies[i], &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.Text, "@") {
			t.Errorf("%.80q: the text may mention somebody: %s", s, got.Text)
		}
		if len(got.Blocks) > 50 {
			t.Errorf("%.80q: got %d blocks, Slack takes 50", s, len(got.Blocks))
		}
		all := []text{{"plain_text", got.Text}}
		for _, b := range got.Blocks {
			if b.Text != nil {
				all = append(all, *b.Text)
				if limit := map[string]int{"header": 150, "section": 3000}[b.Type]; utf8.RuneCountInString(b.Text.Text) > limit || b.Text.Text == "" {
					t.Errorf("%.80q: a %s has %d characters, Slack takes 1 to %d", s, b.Type, utf8.RuneCountInString(b.Text.Text), limit)
				}
			}
			all = append(all, b.Elements...)
		}
		for _, one := range all {
			harmless(t, one.Text)
			if one == (text{"mrkdwn", "<https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736?a=1&amp;b=%7C|Open the trace>"}) {
				continue // the farm's own
			}
			if one.Type != "plain_text" || strings.ContainsAny(one.Text, "<>") {
				t.Errorf("%.80q: %s is not plain: %.200s", s, one.Type, one.Text)
			}
		}
	}
}
