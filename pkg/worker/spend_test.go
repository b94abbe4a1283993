package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// price is $1 for a million tokens in and $5 for a million out: the answers of says
// and calls cost paid micro-dollars.
func price() *eval.Price {
	return &eval.Price{TokenPrice: eval.TokenPrice{Input: 1_000_000, Output: 5_000_000}}
}

const (
	paid = 10 + 5*5
	// atMost is what a call of which nothing is known costs at least.
	atMost = 5 * 4096
)

// priced gives all models that are declared after it a price.
func priced(names ...string) option {
	return func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		s.Models = map[string]eval.Model{}
		for _, name := range names {
			s.Models[name] = eval.Model{Price: price()}
		}
	}
}

// then answers the first calls with these, and what comes after with f.
func then(f modelFunc, first ...llm.Response) modelFunc {
	var n atomic.Int32
	return func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if i := int(n.Add(1)); i <= len(first) {
			return first[i-1], nil
		}
		return f(ctx, req)
	}
}

func failing(err error) modelFunc {
	return func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{}, err }
}

// However an attempt ends, its record tells what it took.
func TestCostOfAnAttempt(t *testing.T) {
	look := calls("getCustomerStatus", customer)
	unlucky := modelFunc(func(context.Context, llm.Request) (llm.Response, error) { panic("lost") })
	tests := []struct {
		name    string
		price   option
		model   modelFunc
		outcome eval.AttemptOutcome
		least   int64 // micro-dollars
		most    int64
		tokens  int64 // at least
	}{
		{"done", priced("agent"), moving(look, says("Yes.")), eval.AttemptDone, 2 * paid, 2 * paid, 30},
		{"failed, and the answer was lost", priced("agent"), then(failing(&llm.Error{Kind: llm.Network, Sent: true}), look), eval.AttemptFailed, paid + atMost, 2 * atMost, 15 + 4096},
		{"failed, and nothing was sent", priced("agent"), then(failing(&llm.Error{Kind: llm.Network}), look), eval.AttemptFailed, paid, paid, 15},
		{"refused", priced("agent"), then(failing(&llm.Error{Kind: llm.Auth}), look), eval.AttemptDone, paid, paid, 15},
		{"refused at once", priced("agent"), failing(&llm.Error{Kind: llm.Auth}), eval.AttemptDone, 0, 0, 0},
		{"a panic", priced("agent"), then(unlucky, look), eval.AttemptFailed, paid + atMost, 2 * atMost, 15 + 4096},
		{"without a price", priced(), moving(look, says("Yes.")), eval.AttemptDone, -1, 0, 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, []eval.Case{conversation()}, tt.price, declared(map[string]modelFunc{"agent": tt.model}))
			r := b.do(1)[0]
			if r.Outcome != tt.outcome {
				t.Errorf("got %s %s, want %s", r.Outcome, r.Result.Message, tt.outcome)
			}
			if r.CostMicroUSD < max(0, tt.least) || r.CostMicroUSD > tt.most || r.Tokens < tt.tokens {
				t.Errorf("cost %d, %d tokens; want from %d to %d, and at least %d", r.CostMicroUSD, r.Tokens, tt.least, tt.most, tt.tokens)
			}
			switch told := r.Result.CostMicroUSD; {
			case tt.least < 0 && told != nil:
				t.Errorf("the result tells a cost of %d, which nobody knows", *told)
			case tt.least >= 0 && (told == nil || *told != r.CostMicroUSD):
				t.Errorf("the result tells a cost of %v, the record one of %d", told, r.CostMicroUSD)
			}
			if r.Result.JudgeCostMicroUSD != nil {
				t.Error("no judge was asked")
			}
		})
	}
	t.Run("of a script", func(t *testing.T) {
		r := setup(t, []eval.Case{active("a")}).do(1)[0]
		if r.CostMicroUSD != 0 || r.Tokens != 0 || r.Result.CostMicroUSD != nil {
			t.Errorf("cost %d, %d tokens, told %v; want nothing", r.CostMicroUSD, r.Tokens, r.Result.CostMicroUSD)
		}
	})
	t.Run("more than the price allows", func(t *testing.T) {
		dear := says("Yes.")
		dear.Usage.Input = 1_000_000
		b := setup(t, []eval.Case{conversation()}, priced("agent"), declared(map[string]modelFunc{"agent": moving(dear)}))
		r := b.do(1)[0]
		if r.CostMicroUSD != 1_000_025 || len(r.Result.Findings) != 1 || r.Result.Findings[0].Code != "overcharged" {
			t.Errorf("cost %d, findings %+v; want it told", r.CostMicroUSD, r.Result.Findings)
		}
	})
}

// paying are trials that have paid for one call when another one hangs.
func paying() []cut {
	return []cut{
		{"an agent", func(t *testing.T, h *hanging, opts ...option) (*bundle, jobs.Job) {
			model := then(h.Generate, calls("getCustomerStatus", customer))
			b := setup(t, []eval.Case{conversation()}, append(opts, priced("agent"), declared(map[string]modelFunc{"agent": model}))...)
			return b, jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
		}},
		{"a judge", func(t *testing.T, h *hanging, opts ...option) (*bundle, jobs.Job) {
			model := then(h.Generate, calls("verdict", `{"pass":true,"reason":"kind"}`))
			b := setup(t, []eval.Case{conversation(judged("a"), judged("b"))}, append(opts, priced("judge"), declared(map[string]modelFunc{"judge": model}), grading(eval.Grading{}))...)
			return b, jobs.Job{Run: "r-1.g1", Attempt: 1, Header: b.header, Subject: b.subject(done())}
		}},
	}
}

// An attempt that has paid for something is not given back as if it had not been,
// whoever stops it: its record tells what it took, and that it counts for nothing
// else.
func TestInterruptedAfterItHasPaid(t *testing.T) {
	tests := []struct {
		name string
		word jobs.Word // empty: the worker drains
	}{
		{"cancelled", jobs.Word{Control: eval.ControlCancel}},
		{"superseded", jobs.Word{Superseded: true}},
		{"drained", jobs.Word{}},
	}
	for _, of := range paying() {
		for _, tt := range tests {
			t.Run(of.name+" "+tt.name, func(t *testing.T) {
				h := newHanging()
				var told atomic.Bool
				b, job := of.make(t, h, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
					o.Grace = time.Millisecond
					o.Place.(*place).word = func(c jobs.Claim) jobs.Word {
						w := jobs.Word{Control: eval.ControlRun}
						if told.Load() {
							w = tt.word
						}
						w.UID = c.UID
						return w
					}
				})
				b.place.jobs <- job
				<-h.asked
				if tt.word == (jobs.Word{}) {
					b.stop()
				} else {
					told.Store(true)
				}
				if err := b.handled(); err != nil {
					t.Errorf("the delivery came to %v, want it dealt with", err)
				}
				if len(b.place.returned) != 0 || len(b.memory.records) != 1 {
					t.Fatalf("%d given back, %d records; want a record alone", len(b.place.returned), len(b.memory.records))
				}
				r := b.memory.records[0]
				if r.Outcome != eval.AttemptReturned || r.Result.Verdict != eval.Unfinished || r.Result.Reason != eval.ReasonCancelled || len(r.Blobs) != 0 {
					t.Errorf("got %s, %s, %s, %d blobs", r.Outcome, r.Result.Verdict, r.Result.Reason, len(r.Blobs))
				}
				// What hangs may have reached the model, so it counts at its most.
				if r.CostMicroUSD < paid+atMost || r.Tokens < 15+4096 {
					t.Errorf("cost %d, %d tokens; want both calls in it", r.CostMicroUSD, r.Tokens)
				}
				if got := r.Result.Usage.Total() + r.Result.JudgeUsage.Total(); got != 15 {
					t.Errorf("%d tokens are known of, want those of the first call", got)
				}
			})
		}
	}
}

// A closed gate lets nobody through for a while.
type closed struct{ wait time.Duration }

func (g closed) Try(context.Context, limit.Key, limit.Ask) (limit.Answer, error) {
	return limit.Answer{Why: limit.WhyPause, Wait: g.wait}, nil
}
func (closed) Renew(context.Context, limit.Key, []string) error               { return nil }
func (closed) Release(context.Context, limit.Key, string, limit.Report) error { return nil }
func (closed) Waiting(context.Context, limit.Key, string, int) error          { return nil }
func (closed) States(context.Context) ([]eval.LimitState, error)              { return nil, nil }
func (closed) Lease() time.Duration                                           { return time.Minute }

// behind puts all models behind a gate.
func behind(g limit.Gate) option {
	return func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
		models, limiter := o.Models, limit.New(g, limit.Options{})
		o.Models = func(m eval.Model, secrets *redact.Redactor, mo meter.Options) (llm.Model, error) {
			mo.Limiter = limiter
			return models(m, secrets, mo)
		}
	}
}

// early are trials whose first call waits for a place at a gate.
func early(t *testing.T, judge bool, g limit.Gate, opts ...option) (*bundle, jobs.Job) {
	t.Helper()
	never := modelFunc(func(context.Context, llm.Request) (llm.Response, error) { panic("the model was asked") })
	c := conversation(judged("tone"))
	opts = append([]option{priced("agent", "judge"), declared(map[string]modelFunc{"agent": never, "judge": never}), behind(g)}, opts...)
	if judge {
		b := setup(t, []eval.Case{c}, append(opts, grading(eval.Grading{}))...)
		return b, jobs.Job{Run: "r-1.g1", Attempt: 1, Header: b.header, Subject: b.subject(done())}
	}
	b := setup(t, []eval.Case{c}, opts...)
	return b, jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
}

// A trial that would have to wait for long before its first call is given back until
// then. No attempt at it was made.
func TestLongWaitBeforeTheFirstCall(t *testing.T) {
	const wait = 40 * time.Second
	for name, judge := range map[string]bool{"an agent": false, "a judge": true} {
		t.Run(name, func(t *testing.T) {
			b, job := early(t, judge, closed{wait})
			b.place.jobs <- job
			later, ok := errors.AsType[*jobs.LaterError](b.handled())
			if !ok || later.After < wait-time.Second || later.After > wait+wait/4+time.Second {
				t.Errorf("got %v, want it again in %v and a bit", later, wait)
			}
			if len(b.place.returned) != 1 || len(b.memory.records) != 0 {
				t.Errorf("%d given back, %d records; want the attempt given back", len(b.place.returned), len(b.memory.records))
			}
		})
	}
}

// One that is stopped while it waits for its first call has paid for nothing.
func TestInterruptedBeforeItHasPaid(t *testing.T) {
	tests := []struct {
		name     string
		word     jobs.Word // empty: the worker drains
		returned bool
		later    bool
	}{
		{"cancelled", jobs.Word{Control: eval.ControlCancel}, true, false},
		{"superseded", jobs.Word{Superseded: true}, false, false},
		{"drained", jobs.Word{}, true, true},
	}
	for name, judge := range map[string]bool{"an agent": false, "a judge": true} {
		for _, tt := range tests {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				var waits atomic.Bool
				waiting := make(chan struct{})
				b, job := early(t, judge, closed{20 * time.Second}, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
					o.Grace = time.Millisecond
					p := o.Place.(*place)
					p.tell = func(as []eval.Activity) {
						if len(as) == 1 && as[0].Doing == eval.DoingLimiter && !waits.Swap(true) {
							close(waiting)
						}
					}
					p.word = func(c jobs.Claim) jobs.Word {
						w := jobs.Word{Control: eval.ControlRun}
						if waits.Load() {
							w = tt.word
						}
						w.UID = c.UID
						return w
					}
				})
				b.place.jobs <- job
				<-waiting
				if tt.word == (jobs.Word{}) {
					b.stop()
				}
				_, later := errors.AsType[*jobs.LaterError](b.handled())
				if later != tt.later || len(b.memory.records) != 0 || (len(b.place.returned) == 1) != tt.returned {
					t.Errorf("later %t, %d given back, %d records; want %t, %t, none", later, len(b.place.returned), len(b.memory.records), tt.later, tt.returned)
				}
			})
		}
	}
}

// What the scheduler holds for an attempt bounds it, and so does the case's own
// limit where nothing is held.
func TestHoldBoundsAnAgent(t *testing.T) {
	tireless := modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
		r := calls("getCustomerStatus", customer)
		r.Usage = eval.Usage{Input: 1000, Output: 4000}
		return r, nil
	})
	const one = 1000 + 5*4000 // micro-dollars for a call
	tests := []struct {
		name    string
		hold    eval.Amount
		limit   int64
		stop    eval.StopReason
		verdict eval.Verdict
		reason  eval.Reason
	}{
		{"money for some calls", eval.Amount{MicroUSD: 4 * one}, 0, eval.StopCostLimit, eval.Pass, ""},
		{"tokens for some calls", eval.Amount{Tokens: 20_000}, 0, eval.StopCostLimit, eval.Pass, ""},
		{"a limit of the case for some calls", eval.Amount{}, 4 * one, eval.StopCostLimit, eval.Pass, ""},
		{"less is held than the case allows", eval.Amount{MicroUSD: 4 * one}, 1 << 40, eval.StopCostLimit, eval.Pass, ""},
		{"money for no call", eval.Amount{MicroUSD: one / 2}, 0, eval.StopNotStarted, eval.Error, eval.ReasonBudget},
		{"tokens for no call", eval.Amount{Tokens: 4096}, 0, eval.StopNotStarted, eval.Error, eval.ReasonBudget},
		{"a limit of the case for no call", eval.Amount{}, one / 2, eval.StopNotStarted, eval.Error, eval.ReasonBudget},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := conversation(eval.Check{ID: "called", Called: &eval.CallCheck{CallPattern: eval.CallPattern{Tool: "getCustomerStatus"}}})
			c.Limits.CostMicroUSD = tt.limit
			b := setup(t, []eval.Case{c}, priced("agent"), declared(map[string]modelFunc{"agent": tireless}))
			b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header, Hold: tt.hold}
			if err := b.handled(); err != nil {
				t.Fatal(err)
			}
			r := b.memory.records[0]
			if r.Outcome != eval.AttemptDone || r.Result.Stop != tt.stop || r.Result.Verdict != tt.verdict || r.Result.Reason != tt.reason {
				t.Errorf("got %s, %s, %s, %s, %s; want done, %s, %s, %s", r.Outcome, r.Result.Stop, r.Result.Verdict, r.Result.Reason, r.Result.Message, tt.stop, tt.verdict, tt.reason)
			}
			if made := r.Result.Counts.ToolCalls > 0; made != (tt.verdict == eval.Pass) {
				t.Errorf("%d calls", r.Result.Counts.ToolCalls)
			}
			if tt.hold.MicroUSD > 0 && r.CostMicroUSD > tt.hold.MicroUSD || tt.hold.Tokens > 0 && r.Tokens > tt.hold.Tokens || tt.limit > 0 && r.CostMicroUSD > tt.limit {
				t.Errorf("cost %d, %d tokens, of a hold of %+v and a limit of %d", r.CostMicroUSD, r.Tokens, tt.hold, tt.limit)
			}
		})
	}
}

// A judge for whom too little is held leaves its check open; what those before it
// took is told as the judges'.
func TestHoldBoundsAJudge(t *testing.T) {
	costly := modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
		r := calls("verdict", `{"pass":true,"reason":"kind"}`)
		r.Usage = eval.Usage{Input: 1000, Output: 4000}
		return r, nil
	})
	const one = 1000 + 5*4000
	tests := []struct {
		name string
		hold int64
		open []bool // of each check
		cost int64  // 0: nothing was asked
	}{
		{"enough", 10 * one, []bool{false, false}, 2 * one},
		{"for one of two", 2 * one, []bool{false, true}, one},
		{"for none", one / 2, []bool{true, true}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, []eval.Case{conversation(judged("a"), judged("b"))}, priced("judge"), declared(map[string]modelFunc{"judge": costly}), grading(eval.Grading{}))
			b.place.jobs <- jobs.Job{Run: "r-1.g1", Attempt: 1, Header: b.header, Subject: b.subject(done()), Hold: eval.Amount{MicroUSD: tt.hold}}
			if err := b.handled(); err != nil {
				t.Fatal(err)
			}
			r := b.memory.records[0]
			if r.Outcome != eval.AttemptDone || len(r.Result.Scores) != 2 {
				t.Fatalf("got %s, %+v", r.Outcome, r.Result)
			}
			for i, s := range r.Result.Scores {
				if s.Pending != tt.open[i] || s.Pending && (s.Reason != eval.ReasonBudget || s.Message == "") {
					t.Errorf("score %+v, want it open: %t, for lack of money", s, tt.open[i])
				}
			}
			unjudged := tt.open[1]
			if got := r.Result.Verdict == eval.Unjudged && r.Result.Reason == eval.ReasonBudget; got != unjudged {
				t.Errorf("got %s, %s", r.Result.Verdict, r.Result.Reason)
			}
			told := r.Result.JudgeCostMicroUSD
			if r.CostMicroUSD != tt.cost || r.Result.CostMicroUSD != nil || (told == nil) != (tt.cost == 0) || told != nil && *told != tt.cost {
				t.Errorf("cost %d, told %v as the judges' and %v as the agent's; want %d of judges", r.CostMicroUSD, told, r.Result.CostMicroUSD, tt.cost)
			}
		})
	}
}
