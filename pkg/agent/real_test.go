package agent_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// realServer starts the demo server in a process of its own, with a regression
// perhaps, and attaches to it.
func realServer(t *testing.T, regression ...string) *client.Attachment {
	t.Helper()
	spec := client.Spec{Name: "acme", Dir: t.TempDir(), Server: eval.Server{
		Command: append([]string{os.Args[0], serveDemo}, regression...), StartTimeout: time.Minute, CallTimeout: 30 * time.Second,
	}}
	if len(regression) > 0 && regression[0] == "slow-tool" {
		spec.Server.CallTimeout = 500 * time.Millisecond
	}
	session, err := client.NewOpener(client.Options{}).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // its exit status is no matter
	att := session.Attach()
	t.Cleanup(att.Detach)
	return att
}

// TestRealServer works with a real server over stdio: it rejects, is corrected,
// hands out a resource and answers in parallel.
func TestRealServer(t *testing.T) {
	trial := task(desk())
	trial.Servers = []agent.Server{{Name: "acme", Tools: realServer(t)}}
	trial.Settings.Resources = true
	var h heard
	done := agent.Loop{Model: moving(
		&h, use("getOrderStatus", `{"orderId":"1"}`),
		use("getOrderStatus", `{"orderId":"ORD-20240815"}`, "getCustomerStatus", `{"customerId":"CUST-4091"}`, "getOrderStatus", `{"orderId":"ORD-99999999"}`),
		use("read_resource", `{"uri":"acme://nowhere"}`), say("Done."),
	)}.Run(t.Context(), trial)
	var got []string
	for _, turn := range done.Trajectory.Turns {
		for _, c := range turn.Calls {
			kind := string(c.Outcome.Kind)
			if c.Invalid != "" {
				kind = "invalid"
			}
			got = append(got, c.Tool+c.URI+" "+kind)
		}
	}
	want := []string{"getOrderStatus invalid", "getOrderStatus ok", "getCustomerStatus ok", "getOrderStatus ok", "acme://nowhere protocol_error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if told := h.told(); !strings.Contains(told[0], "does not match pattern") || !strings.Contains(told[1], "SHIPPED") {
		t.Errorf("told %q", told)
	}
	if done.Stop != eval.StopDone || done.Verdict != "" || len(done.Trajectory.Findings) > 0 {
		t.Errorf("%s, %q, findings %v", done.Stop, done.Verdict, done.Trajectory.Findings)
	}
	if len(done.Trajectory.Tools) < 4 || done.Counts.InitialToolTokens < 100 {
		t.Errorf("%d tools, %d tokens", len(done.Trajectory.Tools), done.Counts.InitialToolTokens)
	}
}

func TestRealServerDies(t *testing.T) {
	for _, underTest := range []bool{false, true} {
		trial := task(desk())
		trial.Servers = []agent.Server{{Name: "acme", Tools: realServer(t, "crash-on-hostile-input"), UnderTest: underTest}}
		done := agent.Loop{Model: moving(&heard{}, use("getZoneHealthLogs", `{"zoneId":"'; DROP TABLE x"}`), say("Done."))}.Run(t.Context(), trial)
		verdict := eval.Error
		if underTest {
			verdict = eval.Fail
		}
		if done.Verdict != verdict || done.Reason != eval.ReasonServerCrashed || done.Stop != eval.StopServerLost {
			t.Errorf("under test %v: %q, %q, %q: %s\n%s", underTest, done.Verdict, done.Reason, done.Stop, done.Message, strings.Join(transcript(done.Trajectory), "\n"))
		}
	}
}

// TestRealServerIsSlow lets one call run into its timeout; the session lives on.
func TestRealServerIsSlow(t *testing.T) {
	trial := task(desk())
	trial.Servers = []agent.Server{{Name: "acme", Tools: realServer(t, "slow-tool")}}
	var h heard
	done := agent.Loop{Model: moving(&h, use("getSLACompliance", `{"serviceId":"api-gateway"}`), say("Done."))}.Run(t.Context(), trial)
	if told := h.told(); len(told) != 1 || !strings.Contains(told[0], "did not answer in time") {
		t.Errorf("told %q", told)
	}
	if diff := cmp.Diff([]string{"call_timeout 1"}, codes(done.Trajectory)); diff != "" {
		t.Errorf("findings, -want +got:\n%s", diff)
	}
	if done.Stop != eval.StopDone || done.Verdict != "" {
		t.Errorf("%s, %q: %s", done.Stop, done.Verdict, done.Message)
	}
}
