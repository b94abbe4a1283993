// Package notify tells targets of runs that are done: by a signed webhook, Slack,
// a commit's status on GitHub, or mail.
//
// What is to be told lies in the store's outbox, which [Sender.Ended] fills with the
// end of a run. A [Sender] claims a notice, sends it, and notes what came of it. If
// it dies in between, the next one sends the notice again: each is sent at least
// once, and twice only then. It carries the same id each time, so that a receiver
// can drop the second one.
//
// Texts of models, tools and servers are hostile here as in every face: each is put
// on one line, cut, and escaped for where it goes. Secrets are resolved when a notice
// is sent, and taken out of everything that is kept or logged.
package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/store"
)

const (
	// claim is how long a notice is left to who has claimed it. A batch is sent within
	// half of that.
	claim = 2 * time.Minute
	// batch is how many notices are claimed at once, and parallel how many are sent at
	// once.
	batch, parallel = 16, 4
	// poll is how often a sender looks without being woken.
	poll = 5 * time.Second
	// noting is how long it may take to store what came of a try.
	noting = 10 * time.Second
	// recent is how many of a suite's newest runs are looked at for the one that was
	// done last.
	recent = 100
)

// Store is the part of the store that a sender uses.
type Store interface {
	blob.Store
	store.Notices
	ID() string
	Run(ctx context.Context, id string) (eval.Run, error)
	ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error)
}

// Options of a sender.
type Options struct {
	// Targets that are told.
	Targets []eval.Target
	// Secret finds the value of a secret. The error says what to do.
	Secret func(name string) (string, error)
	// Version of this evalfarm, which servers are told.
	Version string
	// Traces is where people see the traces of trials.
	Traces eval.TraceURL
	// Patience is how long one try may take. Zero means 15 s.
	Patience time.Duration
	// Now is the clock. Nil is that of the machine.
	Now func() time.Time
	// Wait is the time between try n and the next one; false is that there is none. Nil
	// is [Backoff].
	Wait func(n int) (time.Duration, bool)
	// RootCAs that servers are verified with. Nil is those of the machine.
	RootCAs *x509.CertPool
	// Logger for what nobody else is told. Nil discards.
	Logger *slog.Logger
}

// A Sender sends notices. Make one with New. It may be used by several goroutines,
// and several may share an outbox.
type Sender struct {
	store  Store
	opts   Options
	log    *slog.Logger
	client *http.Client
	wake   chan struct{}
}

// New makes a sender of a store's outbox.
func New(s Store, o Options) *Sender {
	if o.Patience <= 0 {
		o.Patience = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = Backoff
	}
	return &Sender{
		store: s, opts: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), client: newClient(o.RootCAs), wake: make(chan struct{}, 1),
	}
}

// Backoff is the wait after try n: nine tries over a day, with up to a fifth less so
// that the notices of many runs do not come in step.
func Backoff(n int) (time.Duration, bool) {
	waits := []time.Duration{
		5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 9 * time.Hour,
	}
	if n < 1 || n > len(waits) {
		return 0, false
	}
	wait := waits[n-1]
	return wait - mathrand.N(wait/5), true
}

// Ended returns the notices of a run that has come to its end, with its verdict
// set. Finish puts them into the outbox.
func (s *Sender) Ended(ctx context.Context, run eval.Run) ([]store.Notice, error) {
	var before eval.RunVerdict
	if slices.ContainsFunc(s.opts.Targets, func(t eval.Target) bool { return slices.Contains(t.On, eval.OnChange) }) {
		var err error
		if before, err = s.before(ctx, run); err != nil {
			return nil, fmt.Errorf("whom to tell of run %s: %w", run.ID, err)
		}
	}
	var ns []store.Notice
	now := s.opts.Now()
	for _, t := range s.opts.Targets {
		if t.Wants(run, before) {
			ns = append(ns, store.Notice{Run: run.ID, Target: t.Name, State: store.NoticeWaiting, Due: now, Created: now})
		}
	}
	return ns, nil
}

// before is the verdict of the run of the same suite that was done last; empty if
// there is none.
func (s *Sender) before(ctx context.Context, run eval.Run) (eval.RunVerdict, error) {
	runs, err := s.store.ListRuns(ctx, store.RunFilter{Suite: run.Suite, Limit: recent})
	if err != nil {
		return "", err
	}
	var last eval.Run
	for _, r := range runs {
		if r.ID != run.ID && r.State == eval.RunDone && r.Finished.After(last.Finished) {
			last = r
		}
	}
	return last.Verdict, nil
}

// Wake asks Run to look soon. It never blocks.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run sends what is due until ctx ends and the tries under way have ended too. A store that fails is tried again.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		if _, err := s.Deliver(ctx, ""); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "send notices", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-ticker.C:
		}
	}
}

// Deliver tries each notice that is due once, those of a run or, for "", all of
// them, and returns what came of them. It begins none once ctx has ended, and brings
// those that it has begun to their end.
func (s *Sender) Deliver(ctx context.Context, run string) ([]store.Notice, error) {
	var names []string
	for _, t := range s.opts.Targets {
		names = append(names, t.Name)
	}
	var done []store.Notice
	due := s.opts.Now() // what fails now is due later, and not tried again here
	for ctx.Err() == nil {
		claimed, err := s.store.ClaimNotices(ctx, run, names, due, s.opts.Now().Add(claim), batch)
		if err != nil || len(claimed) == 0 {
			return done, err
		}
		var g errgroup.Group
		g.SetLimit(parallel)
		for i := range claimed {
			g.Go(func() error { return s.try(context.WithoutCancel(ctx), &claimed[i]) })
		}
		err = g.Wait()
		done = append(done, claimed...)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// try sends one notice and notes what came of it.
func (s *Sender) try(ctx context.Context, n *store.Notice) error {
	i := slices.IndexFunc(s.opts.Targets, func(t eval.Target) bool { return t.Name == n.Target })
	target := s.opts.Targets[i] // only those are claimed
	err := s.tellOf(ctx, n.Run, target)
	if broken, ok := errors.AsType[*storeError](err); ok {
		return broken // the notice is left to whoever claims it next
	}
	s.settle(n, err)
	level := slog.LevelInfo
	if n.State != store.NoticeSent && n.State != store.NoticeSkipped {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "notice", "run", n.Run, "target", n.Target, "try", n.Tries, "state", n.State, "message", n.Message)
	noting, cancel := context.WithTimeout(ctx, noting)
	defer cancel()
	return s.store.SettleNotice(noting, *n)
}

// settle puts what came of a try into the notice.
func (s *Sender) settle(n *store.Notice, err error) {
	now := s.opts.Now()
	n.State, n.Message, n.Due, n.Ended = store.NoticeSent, "", time.Time{}, now
	if err == nil {
		return
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{state: store.NoticeWaiting}
	}
	n.State, n.Message = f.state, err.Error()
	if f.state != store.NoticeWaiting {
		return
	}
	wait, again := s.opts.Wait(n.Tries)
	if !again {
		n.State = store.NoticeFailed
		return
	}
	n.Due, n.Ended = now.Add(max(wait, f.after)), time.Time{}
}

// A storeError is one of the store, which is no target's doing.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// tellOf tells a target of a run.
func (s *Sender) tellOf(ctx context.Context, run string, t eval.Target) error {
	r, err := s.store.Run(ctx, run)
	if err != nil {
		return &storeError{fmt.Errorf("tell %s of run %s: %w", t.Name, run, err)}
	}
	var summary eval.Summary
	if err := blob.LoadJSON(ctx, s.store, r.Summary, &summary); err != nil {
		return &storeError{fmt.Errorf("tell %s of run %s: %w", t.Name, run, err)}
	}
	return s.send(ctx, t, func(t eval.Target, secrets *redact.Redactor) message {
		return tell(s.id(run, t.Name), summary.Linked(s.opts.Traces), t, secrets)
	})
}

// Test sends a target a message that says that it is a test, once.
func (s *Sender) Test(ctx context.Context, t eval.Target) error {
	return s.send(ctx, t, func(t eval.Target, _ *redact.Redactor) message {
		return sample("msg_test_"+rand.Text(), t, s.opts.Now())
	})
}

// id names the notice of a run and a target in every try, and no other one of any
// store.
func (s *Sender) id(run, target string) string {
	sum := sha256.Sum256([]byte(s.store.ID() + "\n" + run + "\n" + target))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// send sends one message. The error holds no secret.
func (s *Sender) send(ctx context.Context, t eval.Target, write func(eval.Target, *redact.Redactor) message) error {
	t, secrets, err := s.reveal(t)
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, s.opts.Patience)
		defer cancel()
		err = s.by(bounded, t, write(t, secrets))
	}
	if err == nil {
		return nil
	}
	// Before it is cut, since half a secret is not found, and after what a server may
	// have put between its halves is gone.
	text := secrets.String(shown(secrets.String(err.Error()), 2*maxText))
	clean := &failure{message: text, state: store.NoticeWaiting}
	if f, ok := errors.AsType[*failure](err); ok {
		clean.state, clean.after = f.state, f.after
	}
	return clean
}

// by sends a message in the way of its target.
func (s *Sender) by(ctx context.Context, t eval.Target, m message) error {
	switch {
	case t.Webhook != nil:
		return s.webhook(ctx, *t.Webhook, m)
	case t.Slack != nil:
		return s.slack(ctx, *t.Slack, m)
	case t.GitHubStatus != nil:
		return s.githubStatus(ctx, *t.GitHubStatus, m)
	case t.Email != nil:
		return s.email(ctx, *t.Email, m)
	default:
		return never("the target cannot be reached: it has no address")
	}
}
