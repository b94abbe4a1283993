package notify

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// maxDescription is how many characters GitHub lets the description of a status
// have.
const maxDescription = 140

var commitRE = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// status is the body of "Create a commit status" of GitHub's REST API 2022-11-28.
type status struct {
	State       string `json:"state"`
	TargetURL   string `json:"target_url,omitempty"`
	Description string `json:"description"`
	Context     string `json:"context"`
}

// githubStatus sets the status of the run's commit. A test sets none: it would stay.
func (s *Sender) githubStatus(ctx context.Context, to eval.GitHubStatus, m message) error {
	switch {
	case m.Type == typeTest:
		return s.githubToken(ctx, to)
	case m.Data.Commit == "":
		return skip("the run has no commit: its suite is in no git repository")
	case !commitRE.MatchString(m.Data.Commit):
		return skip("the run's commit is none of git: " + m.Data.Commit)
	}
	description := m.headline(maxDescription)
	if m.Data.Dirty {
		const dirty = "with local changes: "
		description = dirty + m.headline(maxDescription-len(dirty))
	}
	body := eval.Encode(status{State: githubState(m.Data.Verdict), TargetURL: m.Data.URL, Description: description, Context: to.Context})
	r, err := s.post(ctx, to.APIURL+"/repos/"+to.Repository+"/statuses/"+m.Data.Commit, false, githubHeader(to), body)
	if err != nil {
		return err
	}
	return githubFailure(r, s.opts.Now())
}

// githubToken asks whether the token may write statuses, with one for a commit that
// cannot be: it is refused as such (422) or, without the right, as a stranger's.
func (s *Sender) githubToken(ctx context.Context, to eval.GitHubStatus) error {
	const nowhere = "0000000000000000000000000000000000000000"
	body := eval.Encode(status{State: "success", Description: "test", Context: to.Context})
	r, err := s.post(ctx, to.APIURL+"/repos/"+to.Repository+"/statuses/"+nowhere, false, githubHeader(to), body)
	if err != nil || r.code == http.StatusUnprocessableEntity {
		return err
	}
	return githubFailure(r, s.opts.Now())
}

func githubHeader(to eval.GitHubStatus) http.Header {
	return http.Header{
		"Authorization":        {"Bearer " + to.Token},
		"Accept":               {"application/vnd.github+json"},
		"X-Github-Api-Version": {"2022-11-28"},
	}
}

// githubState is the state of a commit. An inconclusive run proves nothing, and its
// commit is not to be merged as if it had.
func githubState(v eval.RunVerdict) string {
	switch v {
	case eval.RunPass:
		return "success"
	case eval.RunFail:
		return "failure"
	default:
		return "error"
	}
}

// githubFailure also knows how GitHub limits rates: by a 403 that says since when
// there is nothing left, or how long to wait.
func githubFailure(r reply, now time.Time) error {
	err := r.failure(now)
	limited := r.header.Get("X-Ratelimit-Remaining") == "0" || r.header.Get("Retry-After") != ""
	if f, ok := errors.AsType[*failure](err); ok && r.code == http.StatusForbidden && limited {
		f.state, f.after = store.NoticeWaiting, retryAfter(r.header, now)
		if reset, err := strconv.ParseInt(r.header.Get("X-Ratelimit-Reset"), 10, 64); err == nil && f.after == 0 {
			f.after = min(max(time.Unix(reset, 0).Sub(now), 0), longest)
		}
	}
	return err
}
