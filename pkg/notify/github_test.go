package notify_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func githubTarget(url string) eval.Target {
	return eval.Target{
		Name: "commits", Link: "https://farm.example/{run}",
		GitHubStatus: &eval.GitHubStatus{Repository: "evalfarm/evalfarm", Token: "${{ secrets.T }}", Context: "evals", APIURL: url + "/api/v3"},
	}
}

func githubRig(t *testing.T, answers ...http.HandlerFunc) (*rig, *receiver) {
	t.Helper()
	to := newReceiver(t, answers...)
	r := newRig(t, githubTarget(to.URL))
	r.secrets["T"] = "ghp_token"
	return r, to
}

func TestGitHubStatus(t *testing.T) {
	const headline = "nightly-desk, script 3/4 pass, 1m20s, $1.23"
	for verdict, want := range map[eval.RunVerdict]string{
		eval.RunPass: "success PASS " + headline, eval.RunFail: "failure FAIL " + headline, eval.RunError: "error ERROR " + headline,
		eval.RunInconclusive: "error INCONCLUSIVE " + headline,
	} {
		t.Run(string(verdict), func(t *testing.T) {
			r, to := githubRig(t, answer(201, "{}"))
			s := summary("r-1")
			s.Verdict = verdict
			r.end(s)
			if n := r.deliver()[0]; n.State != store.NoticeSent {
				t.Fatalf("got %+v, want it sent", n)
			}
			reqs, bodies := to.requests()
			req := reqs[0]
			if req.Method != http.MethodPost || req.URL.Path != "/api/v3/repos/evalfarm/evalfarm/statuses/"+commit ||
				req.Header.Get("Authorization") != "Bearer ghp_token" || req.Header.Get("X-GitHub-Api-Version") != "2022-11-28" {
				t.Errorf("got %s %s with %v", req.Method, req.URL, req.Header)
			}
			state, description, _ := strings.Cut(want, " ")
			if diff := cmp.Diff(map[string]any{
				"state": state, "description": description, "context": "evals", "target_url": "https://farm.example/r-1",
			}, decode(t, bodies[0])); diff != "" {
				t.Errorf("status differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGitHubStatusWithoutACommit(t *testing.T) {
	for name, test := range map[string]struct {
		git  *eval.Git
		want string
	}{
		"no repository": {nil, "the run has no commit: its suite is in no git repository"},
		"no commit":     {&eval.Git{Commit: "../../../user"}, "the run's commit is none of git: ../../../user"},
	} {
		t.Run(name, func(t *testing.T) {
			r, to := githubRig(t)
			s := summary("r-1")
			s.Git = test.git
			r.end(s)
			r.deliver()
			if n := r.one(); n.State != store.NoticeSkipped || n.Message != test.want {
				t.Errorf("got %+v, want it skipped: %s", n, test.want)
			}
			if reqs, _ := to.requests(); len(reqs) > 0 {
				t.Errorf("got %s, want nothing sent", reqs[0].URL)
			}
		})
	}
}

func TestGitHubStatusOfALocalChange(t *testing.T) {
	r, to := githubRig(t)
	s := summary("r-1")
	s.Git.Dirty = true
	r.end(s)
	r.deliver()
	_, bodies := to.requests()
	if got := decode(t, bodies[0])["description"]; got != "with local changes: FAIL nightly-desk, script 3/4 pass, 1m20s, $1.23" {
		t.Errorf("got %q, want that it says so", got)
	}
}

func TestGitHubLimits(t *testing.T) {
	reset := strconv.FormatInt(time.Date(2026, 3, 1, 2, 40, 0, 0, time.UTC).Unix(), 10)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		state  store.NoticeState
		wait   time.Duration
	}{
		"nothing left":      {answer(403, "{}", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset), store.NoticeWaiting, 40 * time.Minute},
		"a secondary limit": {answer(403, "{}", "Retry-After", "60"), store.NoticeWaiting, time.Minute},
		"no right":          {answer(403, `{"message": "Resource not accessible"}`, "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", reset), store.NoticeFailed, 0},
		"no such commit":    {answer(422, `{"message": "No commit found"}`), store.NoticeFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := githubRig(t, test.answer)
			r.end(summary("r-1"))
			r.deliver()
			n := r.one()
			if n.State != test.state || n.State == store.NoticeWaiting && n.Due.Sub(r.now) != test.wait {
				t.Errorf("got %+v, want %s for %v", n, test.state, test.wait)
			}
		})
	}
}

// A test leaves no status behind: it asks for one of a commit that cannot be.
func TestGitHubTest(t *testing.T) {
	r, to := githubRig(t, answer(422, `{"message": "No commit found for SHA"}`), answer(404, `{"message": "Not Found"}`))
	r.must(r.sender().Test(t.Context(), r.targets[0]))
	if err := r.sender().Test(t.Context(), r.targets[0]); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want that the token is of no use", err)
	}
	if reqs, _ := to.requests(); !strings.HasSuffix(reqs[0].URL.Path, "/statuses/"+strings.Repeat("0", 40)) {
		t.Errorf("got %s, want a commit that cannot be", reqs[0].URL)
	}
}

func TestHostileTextInAGitHubStatus(t *testing.T) {
	r, to := githubRig(t)
	for i, s := range hostile(t) {
		r.end(told("r-"+strconv.Itoa(i), s))
		r.deliver()
		_, bodies := to.requests()
		got := decode(t, bodies[i])["description"].(string)
		if harmless(t, got); utf8.RuneCountInString(got) > 140 {
			t.Errorf("%.80q: got %d characters, GitHub takes 140", s, utf8.RuneCountInString(got))
		}
	}
}
