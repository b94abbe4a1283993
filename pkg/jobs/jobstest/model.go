package jobstest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// model tries random sequences of what workers and the scheduler do, and holds
// the queue to a handful of promises.
func model(t *testing.T, b *bench) {
	var runs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		m := &trial{
			t: t, b: b, run: fmt.Sprintf("r-%d", runs.Add(1)), newest: 1,
			holder: map[int]string{}, done: map[int]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				c := m.draw(t)
				got, err := b.farm.Claim(b.ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case got == jobs.Granted:
					m.granted(t, "claim", c)
				case got != jobs.Refused:
					t.Fatalf("claim of %s: got %s", c.Job.Key(), got)
				case c.Job.Attempt > m.newest:
					t.Fatalf("claim of %s, newer than any: got refused", c.Job.Key())
				case m.holder[c.Job.Attempt] == c.UID && c.Job.Attempt == m.newest && !m.done[c.Job.Attempt]:
					t.Fatalf("claim of %s by its holder: got refused", c.Job.Key())
				}
			},
			"beat": func(t *rapid.T) {
				c := m.draw(t)
				got, err := b.farm.Beat(b.ctx, c.Worker, 1, []jobs.Claim{c})
				if err != nil {
					t.Fatal(err)
				}
				if !got[0].Superseded {
					m.granted(t, "beat", c)
				} else if m.holder[c.Job.Attempt] == c.UID && c.Job.Attempt == m.newest && !m.done[c.Job.Attempt] {
					t.Fatalf("beat for %s by its holder: got superseded", c.Job.Key())
				}
			},
			"return": func(t *rapid.T) {
				c := m.draw(t)
				if err := b.farm.Return(b.ctx, c); err != nil {
					t.Fatal(err)
				}
				if m.holder[c.Job.Attempt] == c.UID {
					delete(m.holder, c.Job.Attempt)
				}
			},
			"commit": func(t *rapid.T) {
				c := m.draw(t)
				if err := b.farm.Commit(b.ctx, c, record(c)); err != nil {
					t.Fatal(err)
				}
				m.finished(c)
			},
			"finish": func(t *rapid.T) {
				c := m.draw(t)
				if err := b.farm.Finish(b.ctx, c); err != nil {
					t.Fatal(err)
				}
				m.finished(c)
			},
			"supersede": func(t *rapid.T) {
				c := m.draw(t)
				if err := b.farm.Supersede(b.ctx, []jobs.Job{c.Job}); err != nil {
					t.Fatal(err)
				}
				m.newest = max(m.newest, c.Job.Attempt)
			},
			"forget": func(t *rapid.T) {
				// Rare, or nothing else would get far.
				if rapid.IntRange(0, 9).Draw(t, "forget") > 0 {
					t.Skip()
				}
				if err := b.farm.Forget(b.ctx, m.run); err != nil {
					t.Fatal(err)
				}
				if err := b.farm.Control(b.ctx, m.run, eval.ControlRun); err != nil {
					t.Fatal(err)
				}
				m.newest, m.holder, m.done = 1, map[int]string{}, map[int]bool{}
			},
		})
	})
}

// A trial is what an observer knows of one trial from the answers so far.
type trial struct {
	t      *rapid.T
	b      *bench
	run    string
	newest int            // attempt that was superseded to, claimed, beaten for or finished
	holder map[int]string // attempt → uid
	done   map[int]bool
}

func (m *trial) draw(t *rapid.T) jobs.Claim {
	n := rapid.IntRange(1, 4).Draw(t, "attempt")
	return jobs.Claim{
		Job: jobs.Job{Run: m.run, Ordinal: 9, Attempt: n},
		// A uid is minted for one attempt, for ever.
		UID:    fmt.Sprint(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "uid"), n),
		Worker: "w",
	}
}

// granted checks what has to hold when somebody may work on an attempt.
func (m *trial) granted(t *rapid.T, how string, c jobs.Claim) {
	n := c.Job.Attempt
	if n < m.newest {
		t.Fatalf("%s of attempt %d was granted, attempt %d is the newest", how, n, m.newest)
	}
	if m.done[n] {
		t.Fatalf("%s of attempt %d was granted, it is done", how, n)
	}
	if h, held := m.holder[n]; held && h != c.UID {
		t.Fatalf("%s of attempt %d was granted to %s, %s has it", how, n, c.UID, h)
	}
	m.newest, m.holder[n] = n, c.UID
}

func (m *trial) finished(c jobs.Claim) {
	if c.Job.Attempt >= m.newest {
		m.newest = c.Job.Attempt
		m.done[c.Job.Attempt] = true
	}
}
