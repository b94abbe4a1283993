package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A Client reads the runs of a farm and asks for things of them. Its methods are those
// of the store, where it has such, and so are their errors. A farm that has answered
// before and cannot be reached now is asked again for a while what it is only to tell:
// schedulers are started anew. It is safe for concurrent use.
type Client struct {
	*httpblob.Client
	base  string
	token string
	http  *http.Client
	// reached is true when the farm has answered.
	reached atomic.Bool
}

const (
	// patience is how long a farm that is away is asked again.
	patience = 30 * time.Second
	// askAgain is the time between two requests then.
	askAgain = 500 * time.Millisecond
)

// An awayError says that a farm was not reached.
type awayError struct{ error }

// NewClient makes a client for the base URL of a farm's API and a token.
func NewClient(base, token string, c *http.Client) *Client {
	base = strings.TrimRight(base, "/")
	return &Client{Client: httpblob.New(base, token, c), base: base, token: token, http: httpblob.Direct(c)}
}

// Create asks for a run. content gives a file by its sha256; the
// client sends those that the farm lacks.
func (c *Client) Create(ctx context.Context, o Order, content func(sha256 string) (eval.Blob, bool)) (eval.Run, error) {
	// Another time around only if what was there is collected meanwhile.
	const tries = 3
	for i := 0; ; i++ {
		var run eval.Run
		err := c.post(ctx, RunsPath, http.Header{keyHeader: {o.Key}, callerHeader: {o.Traceparent}}, o, &run)
		lacks, ok := errors.AsType[*missingError](err)
		if !ok || i == tries {
			return run, err
		}
		slices.Sort(lacks.files)
		for _, sha256 := range slices.Compact(lacks.files) {
			b, ok := content(sha256)
			if !ok {
				return run, fmt.Errorf("the farm at %s wants a file that is not of the suite: %.64q", c.base, sha256)
			}
			if err := c.PutBlobs(ctx, b); err != nil {
				return run, fmt.Errorf("send the files of the suite: %w", err)
			}
		}
	}
}

// Status reads where a run stands.
func (c *Client) Status(ctx context.Context, run string) (Status, error) {
	var st Status
	return st, c.get(ctx, RunsPath+"/"+url.PathEscape(run), &st)
}

// Run returns a run or a grading by its full id.
func (c *Client) Run(ctx context.Context, id string) (eval.Run, error) {
	st, err := c.Status(ctx, id)
	return st.Run, err
}

// Counts counts standing results by verdict.
func (c *Client) Counts(ctx context.Context, run string) (eval.VerdictCounts, error) {
	st, err := c.Status(ctx, run)
	return st.Counts, err
}

// Ledger returns what a run and its gradings have taken.
func (c *Client) Ledger(ctx context.Context, run string) (eval.Ledger, error) {
	st, err := c.Status(ctx, run)
	return st.Ledger.Known(), err
}

// Live returns what a run is doing.
func (c *Client) Live(ctx context.Context, run string) (eval.Live, error) {
	st, err := c.Status(ctx, run)
	switch {
	case err != nil:
		return eval.Live{}, err
	case st.Live == nil:
		return eval.Live{}, store.ErrNotFound
	}
	return *st.Live, nil
}

// Notices returns those of a run.
func (c *Client) Notices(ctx context.Context, run string, _ int) ([]store.Notice, error) {
	st, err := c.Status(ctx, run)
	return st.Notices, err
}

// ListRuns returns runs, newest first.
func (c *Client) ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error) {
	q := url.Values{}
	for name, value := range map[string]string{"suite": f.Suite, "prefix": f.Prefix, "schedule": f.Schedule, "tenant": f.Tenant, "branch": f.Branch} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Unfinished {
		q.Set("unfinished", "true")
	}
	if f.Green {
		q.Set("green", "true")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	var list runList
	err := c.get(ctx, RunsPath+"?"+q.Encode(), &list)
	return list.Runs, err
}

// Gradings returns those of a run, oldest first.
func (c *Client) Gradings(ctx context.Context, run string) ([]eval.Run, error) {
	var list runList
	return list.Runs, c.get(ctx, RunsPath+"/"+url.PathEscape(run)+"/gradings", &list)
}

// Summary returns what a run came to, or how it stands.
func (c *Client) Summary(ctx context.Context, run string) (eval.Summary, error) {
	var s eval.Summary
	return s, c.get(ctx, RunsPath+"/"+url.PathEscape(run)+"/summary", &s)
}

// Events returns events of a run after a sequence number, at most limit.
func (c *Client) Events(ctx context.Context, run string, after int64, limit int) ([]eval.Event, error) {
	var page eventPage
	return page.Events, c.get(ctx, fmt.Sprintf("%s/%s/events?after=%d&limit=%d", RunsPath, url.PathEscape(run), after, limit), &page)
}

// EachResult calls fn with every standing result of a run, by ordinal.
func (c *Client) EachResult(ctx context.Context, run string, fn func(store.Row) error) error {
	for cursor := ""; ; {
		var page trialPage
		if err := c.get(ctx, fmt.Sprintf("%s/%s/trials?limit=%d&cursor=%s", RunsPath, url.PathEscape(run), maxPage, url.QueryEscape(cursor)), &page); err != nil {
			return err
		}
		for _, row := range page.Trials {
			if err := fn(row); err != nil {
				return err
			}
		}
		if page.Next == "" || page.Next == cursor {
			return nil
		}
		cursor = page.Next
	}
}

// Result returns the standing result of one trial, or ErrNotFound.
func (c *Client) Result(ctx context.Context, run string, ordinal int) (store.Row, error) {
	var page trialPage
	if err := c.get(ctx, fmt.Sprintf("%s/%s/trials?limit=1&cursor=%d", RunsPath, url.PathEscape(run), ordinal), &page); err != nil {
		return store.Row{}, err
	}
	if len(page.Trials) == 0 || page.Trials[0].Ordinal != ordinal {
		return store.Row{}, store.ErrNotFound
	}
	return page.Trials[0], nil
}

// Attempts returns every attempt at a trial, by number.
func (c *Client) Attempts(ctx context.Context, run string, ordinal int) ([]store.Attempt, error) {
	var list attemptList
	return list.Attempts, c.get(ctx, fmt.Sprintf("%s/%s/trials/%d/attempts", RunsPath, url.PathEscape(run), ordinal), &list)
}

// Cancel asks for the end of a run.
func (c *Client) Cancel(ctx context.Context, run string) (Status, error) {
	return c.ask(ctx, run, askCancel)
}

// Pause asks that a run begins nothing new.
func (c *Client) Pause(ctx context.Context, run string) (Status, error) {
	return c.ask(ctx, run, askPause)
}

// Resume takes back that a run was paused.
func (c *Client) Resume(ctx context.Context, run string) (Status, error) {
	return c.ask(ctx, run, askResume)
}

func (c *Client) ask(ctx context.Context, run, what string) (Status, error) {
	var st Status
	return st, c.post(ctx, RunsPath+"/"+url.PathEscape(run)+":"+what, nil, struct{}{}, &st)
}

// Retry asks that trials of a run are tried again.
func (c *Client) Retry(ctx context.Context, run string, how Retrying) (Retried, error) {
	var got Retried
	return got, c.post(ctx, RunsPath+"/"+url.PathEscape(run)+":"+askRetry, nil, how, &got)
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	for begun := time.Now(); ; {
		err := c.do(ctx, http.MethodGet, path, nil, nil, into)
		if _, away := errors.AsType[awayError](err); !away || !c.reached.Load() || time.Since(begun) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

func (c *Client) post(ctx context.Context, path string, more http.Header, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.base, err)
	}
	return c.do(ctx, http.MethodPost, path, more, content, into)
}

// maxAnswer bounds an answer: a page of results is the largest.
const maxAnswer = 256 << 20

func (c *Client) do(ctx context.Context, method, path string, more http.Header, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask the farm: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range more {
		if values[0] != "" {
			req.Header.Set(name, values[0])
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok { // it would say the whole address
			err = cause.Err
		}
		return awayError{fmt.Errorf("reach the farm at %s: %w", c.base, err)}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return awayError{fmt.Errorf("read what the farm at %s answers: %w", c.base, err)}
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode >= 300 {
		p := &Problem{}
		if media != "application/problem+json" || json.Unmarshal(answer, p) != nil {
			err := fmt.Errorf("what answers at %s is no farm, or something stands before it: %s", c.base, resp.Status)
			if resp.StatusCode >= http.StatusBadGateway && resp.StatusCode <= http.StatusGatewayTimeout {
				return awayError{err} // so says a proxy
			}
			return err
		}
		p.Status = resp.StatusCode
		return p.err()
	}
	if media != "application/json" {
		return fmt.Errorf("what answers at %s is no farm: it sent %q", c.base, media)
	}
	c.reached.Store(true)
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read what the farm at %s answers: %w", c.base, err)
	}
	return nil
}
