package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// A hanging model answers nothing until its caller gives up.
type hanging struct {
	asked chan struct{}
	calls atomic.Int32
}

func newHanging() *hanging { return &hanging{asked: make(chan struct{}, 100)} }

func (h *hanging) Generate(ctx context.Context, _ llm.Request) (llm.Response, error) {
	h.calls.Add(1)
	h.asked <- struct{}{}
	<-ctx.Done()
	return llm.Response{}, ctx.Err()
}

// cut is a trial that a model holds up: of an agent, or of a judge.
type cut struct {
	name string
	make func(t *testing.T, h *hanging, opts ...option) (*bundle, jobs.Job)
}

func cuts() []cut {
	return []cut{
		{"an agent", func(t *testing.T, h *hanging, opts ...option) (*bundle, jobs.Job) {
			b := setup(t, []eval.Case{conversation()}, append(opts, declared(map[string]modelFunc{"agent": h.Generate}))...)
			return b, jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
		}},
		{"a judge", func(t *testing.T, h *hanging, opts ...option) (*bundle, jobs.Job) {
			b := setup(t, []eval.Case{conversation(judged("tone"))}, append(opts, declared(map[string]modelFunc{"judge": h.Generate}), grading(eval.Grading{}))...)
			return b, jobs.Job{Run: "r-1.g1", Attempt: 1, Header: b.header, Subject: b.subject(done())}
		}},
	}
}

// A cancel, or another attempt that took over, ends the call that is on its way,
// and no other follows.
func TestWordsEndACallOfAModel(t *testing.T) {
	tests := []struct {
		name     string
		word     jobs.Word
		returned bool
	}{
		{"cancelled", jobs.Word{Control: eval.ControlCancel}, true},
		{"superseded", jobs.Word{Superseded: true}, false},
	}
	for _, of := range cuts() {
		for _, tt := range tests {
			t.Run(of.name+" "+tt.name, func(t *testing.T) {
				h := newHanging()
				var told atomic.Bool // once the model was asked
				b, job := of.make(t, h, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
					o.Place.(*place).word = func(c jobs.Claim) jobs.Word {
						w := jobs.Word{UID: c.UID, Control: eval.ControlRun}
						if told.Load() {
							w = tt.word
							w.UID = c.UID
						}
						return w
					}
				})
				b.place.jobs <- job
				<-h.asked
				told.Store(true)
				if err := b.handled(); err != nil {
					t.Errorf("the delivery came to %v, want it dealt with", err)
				}
				if got := len(b.place.returned) == 1; got != tt.returned || len(b.memory.records) != 0 {
					t.Errorf("given back: %t, %d records; want %t and none", got, len(b.memory.records), tt.returned)
				}
				if n := h.calls.Load(); n != 1 {
					t.Errorf("the model was asked %d times, want once", n)
				}
			})
		}
	}
}

func TestDrainGivesBackACallOfAModel(t *testing.T) {
	for _, of := range cuts() {
		t.Run(of.name, func(t *testing.T) {
			h := newHanging()
			b, job := of.make(t, h, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) { o.Grace = time.Millisecond })
			b.place.jobs <- job
			<-h.asked
			b.stop()
			if err := <-b.done; err != nil {
				t.Errorf("worker ended with %v", err)
			}
			if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later || len(b.place.returned) != 1 || len(b.memory.records) != 0 {
				t.Errorf("later %t, %d given back, %d records; want the attempt given back", later, len(b.place.returned), len(b.memory.records))
			}
		})
	}
}
