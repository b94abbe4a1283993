package aggregate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A cell gathers the trials of one cell.
type cell struct {
	stats   eval.CellStats
	results int
	// complete counts the trials of complete rounds.
	complete eval.VerdictCounts
	// cluster names what the cell has in common with others of its kind; empty if
	// nothing.
	cluster string
	// What a trial took. Unpriced says that a trial's cost is unknown.
	latency, cost, tokens, turns sample
	microUSD                     int64
	unpriced                     bool
	// contested is how much the judges of a trial disagree with themselves.
	contested         mean
	servers, listings few
	// first and failure are the ordinals of the trials that Scores and Failure
	// are from; -1 for none yet.
	first, failure int
}

// labelCluster is the label that says which cases have more in common than the suite:
// a template, a document.
const labelCluster = "cluster"

func newCell(snap eval.Snapshot, c eval.Cell) *cell {
	ref := snap.Cases[c.Case]
	cluster := "case " + ref.ID
	if name := ref.Labels[labelCluster]; name != "" {
		cluster = "cluster " + name
	}
	return &cell{cluster: cluster, first: -1, failure: -1, stats: eval.CellStats{
		Case:     ref.ID,
		Title:    ref.Title,
		Variant:  snap.Variants[c.Variant].ID,
		Kind:     ref.Kind,
		Tags:     ref.Tags,
		Workflow: ref.Workflow,
		Repeats:  c.Repeats,
	}}
}

func (c *cell) add(r store.Row, repeat int) {
	res := r.Result
	c.results++
	c.stats.Counts.Add(res.Verdict, 1)
	c.stats.Steps.Pass += res.Counts.StepsPass
	c.stats.Steps.Fail += res.Counts.StepsFail
	c.stats.Usage = c.stats.Usage.Add(res.Usage)
	switch res.Verdict {
	case eval.Pass, eval.Fail, eval.Unjudged:
		c.took(res)
	case eval.Error, eval.Unfinished, eval.Skipped:
		// Cut short by the farm: the time says nothing of the server.
	}
	c.servers.add(strings.TrimSpace(res.Server.Name + " " + res.Server.Version))
	if res.Listing != nil {
		c.listings.add(res.Listing.Fingerprint)
	}
	if c.first < 0 || r.Ordinal < c.first {
		c.first = r.Ordinal
		c.stats.Scores = res.Scores
		c.stats.Warnings = warnings(res)
	}
	if res.Verdict != eval.Pass && c.worse(res.Verdict, r.Ordinal) {
		c.failure = r.Ordinal
		c.stats.Failure = failure(res, repeat)
		c.stats.Failure.TraceID = r.TraceID
		if c.stats.Kind == eval.KindAgent && res.Stop != eval.StopDone {
			c.stats.Failure.Stop = res.Stop
		}
	}
}

// worse says whether a trial explains the cell better than the failure so far:
// a fail before an error before the others, and then the first by ordinal.
func (c *cell) worse(v eval.Verdict, ordinal int) bool {
	if c.failure < 0 {
		return true
	}
	rank := func(v eval.Verdict) int { return slices.Index(eval.Verdicts(), v) }
	return cmp.Or(cmp.Compare(rank(v), rank(c.stats.Failure.Verdict)), cmp.Compare(ordinal, c.failure)) < 0
}

// took notes what a trial took that the farm did not cut short.
func (c *cell) took(r eval.Result) {
	c.latency.add(r.Times.ModelMS + r.Times.ToolMS)
	if r.Verdict != eval.Unjudged {
		c.contested.add(contested(r.Scores))
	}
	if c.stats.Kind != eval.KindAgent {
		return
	}
	tokens := r.Usage.Total() + r.UserUsage.Total()
	c.tokens.add(float64(tokens))
	c.turns.add(float64(r.Counts.Turns))
	if r.CostMicroUSD == nil {
		c.unpriced = c.unpriced || tokens > 0
		return
	}
	c.cost.add(float64(*r.CostMicroUSD))
	c.microUSD += *r.CostMicroUSD
}

// close counts the trials that have no result.
func (c *cell) close() { c.stats.Counts.Add(eval.Unfinished, c.stats.Repeats-c.results) }

func (c *cell) finish(n numbers) eval.CellStats {
	c.stats.Stats = n.of([]*cell{c})
	if c.stats.Kind == eval.KindAgent || c.stats.Kind == eval.KindScript && c.stats.Repeats > 1 {
		shown := n.evidence.of(c.complete)
		c.stats.Class, c.stats.Bound = shown.class, shown.bound
	}
	if c.cost.n > 0 && !c.unpriced {
		c.stats.CostMean = new(float64(c.microUSD) / float64(c.cost.n))
	}
	c.stats.Servers, c.stats.Listings = c.servers, c.listings
	return c.stats
}

func failure(res eval.Result, repeat int) *eval.Failure {
	f := &eval.Failure{
		Repeat:  repeat,
		Verdict: res.Verdict,
		Reason:  res.Reason,
		Message: res.Message,
		Stderr:  res.Stderr,
	}
	for _, s := range res.Scores {
		if !s.Pass && !s.Warning {
			f.Scores = append(f.Scores, s)
		}
	}
	return f
}

// warnings of a trial: what was noticed and decided nothing.
func warnings(res eval.Result) []string {
	var ws []string
	for _, s := range res.Scores {
		if s.Warning && !s.Pass {
			ws = append(ws, s.Check+": "+cmp.Or(s.Message, s.Title))
		}
	}
	for _, f := range res.Findings {
		if f.Session {
			continue
		}
		ws = append(ws, f.Code+": "+f.Detail)
	}
	return ws
}
