package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// The board tells what an attempt is doing while it does it, and no more when it is
// over.
func TestBoard(t *testing.T) {
	hangs := newHanging()
	listens := func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) { // and never answers
		s.Servers["acme"] = eval.Server{Command: []string{"/bin/sh", "-c", "while read line; do :; done"}, Isolation: eval.IsolationTrial}
	}
	scorer := conversation(eval.Check{ID: "slow", Scorer: &eval.ScorerCheck{Command: []string{"/bin/sleep", "60"}}})
	agent := declared(map[string]modelFunc{"agent": hangs.Generate, "judge": hangs.Generate})
	tests := []struct {
		name string
		c    eval.Case
		opts []option
		want string // doing, on, why
	}{
		{"a script's server starts", active("talk"), []option{listens}, "server_start acme"},
		{"a script calls", func() eval.Case { c := poll(); c.ID = "talk"; return c }(), nil, "tool acme"},
		{"an agent's server starts", conversation(), []option{agent, listens}, "server_start"},
		{"an agent's model is asked", conversation(), []option{agent}, "model agent"},
		{"an agent waits for a place", conversation(), []option{agent, behind(closed{20 * time.Second})}, "limiter agent pause"},
		{"checks are decided", scorer, []option{declared(map[string]modelFunc{"agent": moving()})}, "score"},
		{"a judge is asked", conversation(judged("a")), []option{agent, grading(eval.Grading{})}, "model judge"},
		{"a judge waits for a place", conversation(judged("a")), []option{agent, behind(closed{20 * time.Second}), grading(eval.Grading{})}, "limiter judge pause"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := make(chan []eval.Activity, 1000)
			var stop atomic.Bool
			b := setup(t, []eval.Case{tt.c}, append(tt.opts, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
				p := o.Place.(*place)
				p.tell = func(as []eval.Activity) { told <- as }
				p.word = func(c jobs.Claim) jobs.Word {
					w := jobs.Word{UID: c.UID, Control: eval.ControlRun}
					if stop.Load() {
						w.Control = eval.ControlCancel
					}
					return w
				}
			})...)
			began := time.Now()
			b.place.jobs <- jobs.Job{Run: "r-7", Attempt: 1, Header: b.header, Subject: b.subject(done())}
			a := awaited(t, told, func(as []eval.Activity) bool { return len(as) == 1 && shown(as[0]) == tt.want })[0]
			if a.Run != "r-7" || a.Case != "talk" || a.Repeat != 1 || a.Worker != "w" || a.Since.Before(began.Add(-time.Second)) || a.Since.After(time.Now()) {
				t.Errorf("the board does not tell whose it is: %+v", a)
			}
			if a.Doing == eval.DoingLimiter && a.Until.Before(began.Add(15*time.Second)) {
				t.Errorf("it does not tell until when: %+v", a)
			}
			stop.Store(true)
			_ = b.handled()
			awaited(t, told, func(as []eval.Activity) bool { return len(as) == 0 })
		})
	}
}

// An agent's calls are told with their tools, and what it did before goes on since
// it began.
func TestBoardOfACall(t *testing.T) {
	told := make(chan []eval.Activity, 1000)
	release := make(chan struct{})
	var before atomic.Pointer[time.Time] // when the first call, which is over at once and may be told too, began
	slow := modelFunc(func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if len(req.Messages) == 1 {
			now := time.Now()
			before.Store(&now)
			return calls("getCustomerStatus", customer), nil
		}
		<-release
		return says("Yes."), nil
	})
	verify := conversation(eval.Check{ID: "state", Verify: &eval.VerifyCheck{Server: "acme", Step: &eval.Step{
		ID: "1", Call: "getCustomerStatus", Arguments: eval.JSON(customer), Expect: eval.JSON(`{"status":"NEVER"}`),
		RepeatUntil: &eval.RepeatUntil{Path: "status", Equals: eval.JSON(`"NEVER"`), Max: 100, Every: 20 * time.Millisecond},
	}}})
	b := setup(t, []eval.Case{verify}, declared(map[string]modelFunc{"agent": slow}), func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
		o.Place.(*place).tell = func(as []eval.Activity) { told <- as }
	})
	b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
	asked := func(as []eval.Activity) bool {
		first := before.Load()
		return len(as) == 1 && as[0].Doing == eval.DoingModel && first != nil && as[0].Since.After(*first)
	}
	first, second := awaited(t, told, asked)[0], awaited(t, told, asked)[0]
	if !first.Since.Equal(second.Since) {
		t.Errorf("the same call is told since %v and since %v", first.Since, second.Since)
	}
	close(release)
	awaited(t, told, func(as []eval.Activity) bool {
		return len(as) == 1 && shown(as[0]) == "tool acme/getCustomerStatus"
	})
	_ = b.handled()
}

func shown(a eval.Activity) string {
	text := string(a.Doing)
	for _, part := range []string{a.On, a.Why} {
		if part != "" {
			text += " " + part
		}
	}
	return text
}

// awaited waits until the board is told as a test wants it.
func awaited(t *testing.T, told <-chan []eval.Activity, want func([]eval.Activity) bool) []eval.Activity {
	t.Helper()
	last := ""
	for deadline := time.After(time.Minute); ; {
		select {
		case as := <-told:
			if want(as) {
				return as
			}
			last = fmt.Sprintf("%+v", as)
		case <-deadline:
			t.Fatalf("the board was not told so; the last of it was %s", last)
		}
	}
}
