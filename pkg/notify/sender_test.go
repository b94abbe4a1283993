package notify_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/notify"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a try comes to, and when the next one is.
func TestTries(t *testing.T) {
	elsewhere := newReceiver(t)
	later := func(d time.Duration) string {
		return time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		state  store.NoticeState
		// least and most that is waited for.
		least, most time.Duration
		message     string
	}{
		"200":                             {answer(200, "ok"), store.NoticeSent, 0, 0, ""},
		"204":                             {answer(204, ""), store.NoticeSent, 0, 0, ""},
		"400":                             {answer(400, "no\nsuch thing"), store.NoticeFailed, 0, 0, "the answer is 400 Bad Request: no␊such thing"},
		"401":                             {answer(401, ""), store.NoticeFailed, 0, 0, "the answer is 401 Unauthorized"},
		"410":                             {answer(410, ""), store.NoticeFailed, 0, 0, "the answer is 410 Gone"},
		"408":                             {answer(408, ""), store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "the answer is 408 Request Timeout"},
		"425":                             {answer(425, ""), store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "the answer is 425 Too Early"},
		"429":                             {answer(429, ""), store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "the answer is 429 Too Many Requests"},
		"429 with seconds":                {answer(429, "", "Retry-After", "120"), store.NoticeWaiting, 2 * time.Minute, 2 * time.Minute, "the answer is 429 Too Many Requests"},
		"503 with a date":                 {answer(503, "", "Retry-After", later(time.Hour)), store.NoticeWaiting, time.Hour, time.Hour, "the answer is 503 Service Unavailable"},
		"503 with a date that is past":    {answer(503, "", "Retry-After", later(-time.Hour)), store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "the answer is 503 Service Unavailable"},
		"503 with nonsense":               {answer(503, "", "Retry-After", "soon"), store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "the answer is 503 Service Unavailable"},
		"503 for ever":                    {answer(503, "", "Retry-After", "2000000000"), store.NoticeWaiting, 9 * time.Hour, 9 * time.Hour, "the answer is 503 Service Unavailable"},
		"500":                             {answer(500, "oops"), store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "the answer is 500 Internal Server Error: oops"},
		"400 is final, whatever it wants": {answer(400, "", "Retry-After", "1"), store.NoticeFailed, 0, 0, "the answer is 400 Bad Request"},
		"a redirect":                      {answer(307, "", "Location", elsewhere.URL), store.NoticeFailed, 0, 0, "the answer is 307, a redirect, and those are not followed; name the address itself"},
		"a reset":                         {reset, store.NoticeWaiting, 4 * time.Second, 5 * time.Second, "EOF"},
		"an answer without an end": {
			func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(strings.Repeat("endless ", 100))); err != nil {
						return
					}
				}
			}, store.NoticeFailed, 0, 0, "the answer is 400 Bad Request: endless endless",
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := newReceiver(t, test.answer)
			r := newRig(t, hook(to.URL))
			r.end(summary("r-1"))
			r.deliver()
			n := r.one()
			if n.State != test.state || n.Tries != 1 || !strings.Contains(n.Message, test.message) || (n.Message == "") != (test.message == "") || len(n.Message) > 500 {
				t.Errorf("got %+v, want %s: %s", n, test.state, test.message)
			}
			if n.State != store.NoticeWaiting {
				if !n.Due.IsZero() || !n.Ended.Equal(r.now) {
					t.Errorf("got due %v and ended %v, want that it ended now", n.Due, n.Ended)
				}
				return
			}
			if wait := n.Due.Sub(r.now); wait < test.least || wait > test.most {
				t.Errorf("the next try is in %v, want %v to %v", wait, test.least, test.most)
			}
			r.now = n.Due.Add(-time.Second)
			if ns := r.deliver(); len(ns) != 0 {
				t.Errorf("tried %v before it is due", ns)
			}
			r.now = n.Due
			r.deliver()
			if n := r.one(); n.State != store.NoticeSent || n.Tries != 2 || n.Message != "" {
				t.Errorf("got %+v at the second try, want it sent", n)
			}
		})
	}
	if got, _ := elsewhere.requests(); len(got) > 0 {
		t.Errorf("a redirect was followed to %s", got[0].URL)
	}
}

func TestAServerThatHangs(t *testing.T) {
	release := make(chan struct{})
	to := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	r := newRig(t, hook(to.URL))
	r.patience = 50 * time.Millisecond
	r.end(summary("r-1"))
	r.deliver()
	if n := r.one(); n.State != store.NoticeWaiting || !strings.HasSuffix(n.Message, "no answer within 50ms") {
		t.Errorf("got %+v, want that it waits for no answer", n)
	}
}

func TestACertificateThatNobodyTrusts(t *testing.T) {
	to := httptest.NewUnstartedServer(http.NotFoundHandler())
	to.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	to.StartTLS()
	defer to.Close()
	r := newRig(t, hook(to.URL))
	r.end(summary("r-1"))
	r.deliver()
	if n := r.one(); n.State != store.NoticeWaiting || !strings.Contains(n.Message, "certificate") {
		t.Errorf("got %+v, want that it is not sent", n)
	}
}

// Nine tries over a day, and no more.
func TestGivenUp(t *testing.T) {
	var answers []http.HandlerFunc
	for range 20 {
		answers = append(answers, answer(500, "oops"))
	}
	to := newReceiver(t, answers...)
	r := newRig(t, hook(to.URL))
	r.end(summary("r-1"))
	begun := r.now
	for r.one().State == store.NoticeWaiting {
		r.now = r.one().Due
		r.deliver()
	}
	n := r.one()
	if n.State != store.NoticeFailed || n.Tries != 9 || !strings.HasSuffix(n.Message, "oops") {
		t.Errorf("got %+v, want a failure after 9 tries", n)
	}
	if took := r.now.Sub(begun); took < 18*time.Hour || took > 24*time.Hour {
		t.Errorf("given up after %v, want about a day", took)
	}
	r.now = r.now.Add(48 * time.Hour)
	if ns := r.deliver(); len(ns) != 0 {
		t.Errorf("tried again: %v", ns)
	}
}

// Many senders, many rounds: each target is told once.
func TestOnceForManySenders(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t)
	for i := range 10 {
		target := hook(to.URL)
		target.Name, target.On = "t"+strconv.Itoa(i), []eval.Occasion{eval.OnAlways}
		r.targets = append(r.targets, target)
	}
	for i := range 5 {
		r.end(summary("r-" + strconv.Itoa(i)))
	}
	errs := make(chan error)
	for range 4 {
		s := r.sender()
		go func() {
			_, err := s.Deliver(t.Context(), "")
			errs <- err
		}()
	}
	for range 4 {
		r.must(<-errs)
	}
	reqs, _ := to.requests()
	ids := map[string]bool{}
	for _, req := range reqs {
		ids[req.Header.Get("webhook-id")] = true
	}
	if len(reqs) != 50 || len(ids) != 50 {
		t.Errorf("got %d requests with %d ids, want 50 and 50", len(reqs), len(ids))
	}
}

// mortal is a store whose process is killed before it can note what came of a try.
type mortal struct {
	notify.Store
}

var errKilled = errors.New("killed")

func (mortal) SettleNotice(context.Context, store.Notice) error { return errKilled }

// One who dies between sending and noting leaves the notice to the next, which sends
// it again under the same id.
func TestKilledBetweenSendingAndNoting(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, hook(to.URL))
	r.end(summary("r-1"))
	if _, err := r.senderOver(mortal{r.store}).Deliver(t.Context(), ""); !errors.Is(err, errKilled) {
		t.Fatalf("got %v, want the death", err)
	}
	if ns := r.deliver(); len(ns) != 0 {
		t.Errorf("tried %v although somebody may still be at it", ns)
	}
	r.now = r.now.Add(2 * time.Minute)
	r.deliver()
	reqs, bodies := to.requests()
	if len(reqs) != 2 || reqs[0].Header.Get("webhook-id") != reqs[1].Header.Get("webhook-id") || string(bodies[0]) != string(bodies[1]) {
		t.Fatalf("got %d requests, want the same one twice", len(reqs))
	}
	verify(t, reqs[1], bodies[1])
	if n := r.one(); n.State != store.NoticeSent || n.Tries != 2 {
		t.Errorf("got %+v, want it sent at the second try", n)
	}
}

// A sender takes no notice of a target that it does not know: another one may.
func TestTargetsOfOthersWait(t *testing.T) {
	to := newReceiver(t)
	r := newRig(t, hook(to.URL))
	r.end(summary("r-1"))
	ours := r.targets
	r.targets = []eval.Target{{Name: "other", Webhook: ours[0].Webhook}}
	if ns := r.deliver(); len(ns) != 0 || r.one().State != store.NoticeWaiting || r.one().Tries != 0 {
		t.Errorf("got %v, want that it waits", ns)
	}
}

func TestRunSendsUntilItIsStopped(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	to := newReceiver(t, nil, func(http.ResponseWriter, *http.Request) { close(entered); <-release })
	r := newRig(t, hook(to.URL))
	r.end(summary("r-1"))
	s := r.sender()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for r.one().State != store.NoticeSent {
		time.Sleep(time.Millisecond)
	}
	r.end(summary("r-2"))
	s.Wake()
	<-entered
	stop() // in the middle of a try, which is brought to its end
	close(release)
	if err := <-done; err != nil {
		t.Errorf("got %v, want a quiet end", err)
	}
	ns, err := r.store.Notices(t.Context(), "r-2", 0)
	r.must(err)
	if ns[0].State != store.NoticeSent {
		t.Errorf("got %+v, want that the try under way was noted", ns[0])
	}
}

func TestWhoIsTold(t *testing.T) {
	to := newReceiver(t)
	target := func(name string, on ...eval.Occasion) eval.Target {
		h := hook(to.URL)
		h.Name, h.On = name, on
		return h
	}
	others := target("others", eval.OnAlways)
	others.Suites = []string{"weekly*"}
	r := newRig(t, target("fail", eval.OnFail), target("pass", eval.OnPass), target("change", eval.OnChange), others)
	run := func(id string, v eval.RunVerdict, after time.Duration) string {
		s := summary(id)
		s.Verdict = v
		s.Started, s.Finished = s.Started.Add(after), s.Finished.Add(after)
		r.end(s)
		ns, err := r.store.Notices(t.Context(), id, 0)
		r.must(err)
		var names []string
		for _, n := range ns {
			names = append(names, n.Target)
		}
		return strings.Join(names, " ")
	}
	for i, test := range []struct {
		verdict eval.RunVerdict
		want    string
	}{
		{eval.RunPass, "pass"}, // a first run is compared with a pass
		{eval.RunFail, "change fail"},
		{eval.RunFail, "fail"},
		{eval.RunInconclusive, "change"},
		{eval.RunPass, "change pass"},
	} {
		if got := run("r-"+strconv.Itoa(i), test.verdict, time.Duration(i)*time.Minute); got != test.want {
			t.Errorf("run %d, %s: told %q, want %q", i, test.verdict, got, test.want)
		}
	}
	// One that was created long ago and ends now comes after those that ended before.
	if got := run("r-late", eval.RunPass, -time.Hour); got != "pass" {
		t.Errorf("told %q, want no change from the run that was done last", got)
	}
}

func TestATestMessage(t *testing.T) {
	to := newReceiver(t, answer(500, "oops"))
	r := newRig(t, hook(to.URL))
	if err := r.sender().Test(t.Context(), r.targets[0]); err == nil || err.Error() != "the answer is 500 Internal Server Error: oops" {
		t.Errorf("got %v, want what happened", err)
	}
	r.must(r.sender().Test(t.Context(), r.targets[0]))
	reqs, bodies := to.requests()
	verify(t, reqs[1], bodies[1])
	if got := decode(t, bodies[1])["type"]; got != "notification.test" {
		t.Errorf("got the type %v, want that of a test", got)
	}
	if reqs[0].Header.Get("webhook-id") == reqs[1].Header.Get("webhook-id") {
		t.Error("two tests have one id: a receiver would drop the second")
	}
	if ns, err := r.store.Notices(t.Context(), "", 0); err != nil || len(ns) != 0 {
		t.Errorf("a test is in the outbox: %v, %v", ns, err)
	}
}
