package jobstest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// wiped: Redis forgets everything while workers work. Beats bring back what is
// claimed, what was queued is found missing a lease later, and nothing is taken
// for lost before.
func wiped(t *testing.T, b *bench) {
	js := attempts(3)
	held, silent := claim(js[0], "u0"), claim(js[1], "u1")
	b.must(b.farm.Enqueue(b.ctx, js))
	b.claim(b.farm, held, jobs.Granted)
	b.claim(b.farm, silent, jobs.Granted)
	b.audit(js, jobs.Claimed, jobs.Claimed, jobs.Queued)
	var in inbox
	b.receive(b.again(), in.put)

	b.Wipe()
	start := time.Now()
	beat := func() {
		words, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{held})
		if err != nil || words[0].Superseded {
			t.Errorf("beat: got %v, %v, want not superseded", words, err)
		}
	}
	beat()
	b.claim(b.farm, claim(js[0], "u9"), jobs.Refused)
	if n, err := b.farm.Slots(b.ctx); err != nil || n != 1 {
		t.Errorf("slots: got %d, %v, want 1", n, err)
	}
	b.audit(js, jobs.Claimed, jobs.Queued, jobs.Queued)
	for _, j := range js[1:] {
		b.becomes(j, jobs.Missing, beat)
		if d := time.Since(start); d < b.farm.Lease() {
			t.Errorf("%s: missing after %s, want not before a lease of %s", j.Key(), d, b.farm.Lease())
		}
	}
	b.audit(js, jobs.Claimed, jobs.Missing, jobs.Missing)
	next := []jobs.Job{job(1, 2), job(2, 2)}
	b.must(b.farm.Supersede(b.ctx, next))
	b.must(b.farm.Enqueue(b.ctx, next))
	b.must(b.farm.Delete(b.ctx, next[:1]))
	var l log
	b.serve(b.again(), 1, l.handler)
	b.eventually("the next attempt is delivered", func() bool { return l.all()[next[1]] == 1 })
	// The stream and its readers are back too.
	b.must(b.farm.Commit(b.ctx, held, record(held)))
	b.eventually("the record arrives", func() bool { return slices.Contains(in.uids(), "u0") })
	// Nor does it know any more that it was stored.
	b.Wipe()
	ps, err := b.farm.Passages(b.ctx, []jobs.Claim{held})
	b.must(err)
	if ps[0] != jobs.Unheard {
		t.Errorf("passage after a wipe: got %s, want unheard", ps[0])
	}
}

// killed: Redis is away for longer than a lease. Work goes on, claims survive.
func killed(t *testing.T, b *bench) {
	js := attempts(3)
	b.must(b.farm.Enqueue(b.ctx, js[:1]))
	started, release := make(chan struct{}), make(chan struct{})
	var l log
	var once sync.Once
	stop := b.serve(b.again(), 1, func(ctx context.Context, j jobs.Job) error {
		if j == js[0] {
			once.Do(func() { close(started) })
			b.hold(release)
			if b.ctx.Err() == nil && ctx.Err() != nil {
				t.Errorf("the handler's context ended in the outage: %v", ctx.Err())
			}
		}
		return l.handler(ctx, j)
	})
	<-started
	held, silent := claim(js[0], "u0"), claim(js[1], "u1")
	b.claim(b.farm, held, jobs.Granted)
	b.claim(b.farm, silent, jobs.Granted)
	b.audit(js[:2], jobs.Claimed, jobs.Claimed)

	b.Kill()
	if _, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{held}); err == nil {
		t.Error("beat without Redis: got no error")
	}
	if got, err := b.farm.Audit(b.ctx, run, js[:2]); err == nil {
		t.Errorf("audit without Redis: got %v, want an error", got)
	}
	b.outlast(b.farm)
	b.Restart()
	start := time.Now()
	b.eventually("Redis answers", func() bool {
		_, err := b.farm.Slots(b.ctx)
		return err == nil
	})
	b.audit(js[:2], jobs.Claimed, jobs.Claimed)
	b.claim(b.farm, claim(js[0], "u9"), jobs.Refused)
	beat := func() {
		if words, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{held}); err != nil || words[0].Superseded {
			t.Errorf("beat: got %v, %v, want not superseded", words, err)
		}
	}
	b.becomes(js[1], jobs.Expired, beat)
	if d := time.Since(start); d < b.farm.Lease() {
		t.Errorf("expired after %s, want not before a lease of %s", d, b.farm.Lease())
	}
	b.audit(js[:2], jobs.Claimed, jobs.Expired)
	close(release)
	b.must(b.farm.Enqueue(b.ctx, js[2:]))
	b.eventually("the worker works on", func() bool { return l.all()[js[2]] == 1 })
	b.must(stop())
}

// frozen: Redis does not answer for longer than a lease, and then goes on as if
// nothing had been.
func frozen(t *testing.T, b *bench) {
	js := attempts(2)
	held, silent := claim(js[0], "u0"), claim(js[1], "u1")
	b.claim(b.farm, held, jobs.Granted)
	b.claim(b.farm, silent, jobs.Granted)
	b.audit(js, jobs.Claimed, jobs.Claimed)
	b.Freeze()
	audited := make(chan []jobs.Standing, 1)
	go func() {
		got, err := b.farm.Audit(b.ctx, run, js)
		if err != nil {
			got = nil // it may give up, or sit it out
		}
		audited <- got
	}()
	b.outlast(b.farm)
	b.Thaw()
	start := time.Now()
	for i, s := range <-audited {
		if s != jobs.Claimed {
			t.Errorf("audit across the freeze: %s is %s, want claimed", js[i].Key(), s)
		}
	}
	b.eventually("Redis answers", func() bool {
		words, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{held})
		if err == nil && words[0].Superseded {
			t.Error("beat after the freeze: got superseded, want the claim to have survived")
		}
		return err == nil
	})
	b.claim(b.farm, claim(js[0], "u9"), jobs.Refused)
	b.becomes(js[1], jobs.Expired, func() {
		_, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{held})
		b.must(err)
	})
	if d := time.Since(start); d < b.farm.Lease()/2 {
		t.Errorf("expired %s after the freeze, want about a lease of %s", d, b.farm.Lease())
	}
	b.audit(js, jobs.Claimed, jobs.Expired)
}

// chaos: a scheduler, two workers and an aggregator go about their work while
// workers and Redis die. Every trial gets a result, and no attempt is carried
// out twice.
func chaos(t *testing.T, b *bench) {
	const trials = 60
	f := &farmhands{b: b, granted: map[string][]string{}, done: map[int]bool{}, attempt: map[int]int{}, crashed: map[int]bool{}}
	for i := range trials {
		f.attempt[i] = 1
	}
	b.receive(b.again(), f.aggregate)
	for w := range 2 {
		f.work(fmt.Sprintf("w%d", w))
	}
	scheduled := make(chan struct{})
	go func() {
		defer close(scheduled)
		f.schedule()
	}()
	disturb := []func(){b.Wipe}
	if b.Kill != nil {
		disturb = append(disturb, func() { b.Kill(); b.outlast(b.farm); b.Restart() })
	}
	if b.Freeze != nil {
		disturb = append(disturb, func() { b.Freeze(); b.outlast(b.farm); b.Thaw() })
	}
	for n, d := range disturb {
		// A part of the trials is done, and another under way.
		b.eventually("some progress", func() bool { return f.count() >= (n+1)*trials/(len(disturb)+2) })
		d()
	}
	b.eventually("all trials are done", func() bool { return f.count() == trials })
	select {
	case <-scheduled:
	case <-time.After(60 * time.Second):
		t.Fatal("the scheduler did not end")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(f.granted)) {
		if uids := f.granted[key]; len(uids) > 1 {
			t.Errorf("%s was carried out %d times, by %v", key, len(uids), uids)
		}
	}
	if len(f.crashed) == 0 {
		t.Error("no worker crashed: the test tests little")
	}
}

// farmhands are the parts of a farm around a queue, in their simplest form.
type farmhands struct {
	b *bench

	mu      sync.Mutex          // guards what follows
	granted map[string][]string // attempt → uids that carried it out
	done    map[int]bool        // the store
	attempt map[int]int         // ordinal → current attempt
	crashed map[int]bool        // by ordinal: the first worker of some trials crashes
	uids    int
}

func (f *farmhands) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.done)
}

func (f *farmhands) aggregate(_ context.Context, rs []eval.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range rs {
		if r.N == f.attempt[r.Ordinal] {
			f.done[r.Ordinal] = true
		}
	}
	return nil
}

// outstanding are the trials without a result.
func (f *farmhands) outstanding() []jobs.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	var js []jobs.Job
	for i := range len(f.attempt) {
		if !f.done[i] {
			js = append(js, job(i, f.attempt[i]))
		}
	}
	return js
}

// schedule feeds the queue and follows up what got lost, until all is done.
func (f *farmhands) schedule() {
	for f.b.ctx.Err() == nil {
		if err := f.b.farm.Enqueue(f.b.ctx, f.outstanding()); err == nil {
			break
		}
	}
	for f.b.ctx.Err() == nil {
		js := f.outstanding()
		if len(js) == 0 {
			return
		}
		got, err := f.b.farm.Audit(f.b.ctx, run, js)
		if err == nil {
			var next []jobs.Job
			f.mu.Lock()
			for i, s := range got {
				if (s == jobs.Expired || s == jobs.Missing) && !f.done[js[i].Ordinal] {
					f.attempt[js[i].Ordinal]++
					next = append(next, job(js[i].Ordinal, f.attempt[js[i].Ordinal]))
				}
			}
			f.mu.Unlock()
			f.b.insist(func() error { return f.b.farm.Supersede(f.b.ctx, next) })
			f.b.insist(func() error { return f.b.farm.Enqueue(f.b.ctx, next) })
		}
		select {
		case <-f.b.ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// work runs a worker that crashes now and then: it stops beating for a trial and
// never commits it.
func (f *farmhands) work(name string) {
	farm := f.b.again()
	var mu sync.Mutex
	held := map[string]jobs.Claim{}
	go func() {
		for f.b.ctx.Err() == nil {
			mu.Lock()
			cs := slices.Collect(maps.Values(held))
			mu.Unlock()
			_, _ = farm.Beat(f.b.ctx, name, 4, cs) // the next one will do
			select {
			case <-f.b.ctx.Done():
			case <-time.After(farm.Lease() / 5):
			}
		}
	}()
	f.b.serve(farm, 4, func(ctx context.Context, j jobs.Job) error {
		f.mu.Lock()
		f.uids++
		c := jobs.Claim{Job: j, UID: fmt.Sprintf("%s-%d", name, f.uids), Worker: name}
		f.mu.Unlock()
		grant, err := farm.Claim(ctx, c)
		if err != nil {
			return err
		}
		if grant != jobs.Granted {
			return nil
		}
		f.mu.Lock()
		f.granted[j.Key()] = append(f.granted[j.Key()], c.UID)
		crash := j.Ordinal%10 == 3 && !f.crashed[j.Ordinal]
		if crash {
			f.crashed[j.Ordinal] = true
		}
		f.mu.Unlock()
		if crash {
			return nil
		}
		mu.Lock()
		held[c.UID] = c
		mu.Unlock()
		defer func() {
			mu.Lock()
			delete(held, c.UID)
			mu.Unlock()
		}()
		select {
		case <-f.b.ctx.Done():
			return nil
		case <-time.After(rand.N(200 * time.Millisecond)):
		}
		f.b.insist(func() error { return farm.Commit(ctx, c, record(c)) })
		return nil
	})
}
