package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Summarize makes the numbers of a run from its standing results, which each
// hands over in one pass, and from the ledger of all its attempts.
// The verdict and the exit code are left to package gate.
//
// Trials of the plan without a result count as unfinished. The latency of the
// summary and of a tool is that of single calls; the latency of a cell is the
// time that a trial spent in models and tools, without waits, over the trials
// that were not an error.
//
// The summary does not depend on the order in which results come, but it is
// made fastest in the order of ordinals.
func Summarize(run eval.Run, snap eval.Snapshot, each func(func(store.Row) error) error, ledger eval.Ledger) (eval.Summary, error) {
	s := eval.Summary{
		Run:       run.ID,
		Suite:     snap.Suite,
		SuiteHash: snap.SuiteHash,
		Outcome:   run.Outcome,
		Trials:    snap.Plan.Trials(),
		Kinds:     map[eval.Kind]eval.Stats{},
		Cells:     make([]eval.CellStats, 0, len(snap.Plan.Cells)),
		Git:       snap.Git,
		Origin:    snap.Origin,
		Version:   snap.Version,
		Started:   run.Created,
		Finished:  run.Finished,
	}
	cells := make([]*cell, len(snap.Plan.Cells))
	for i, c := range snap.Plan.Cells {
		cells[i] = newCell(snap, c)
	}
	t := tools{}
	f := findings{}
	m := metrics{}
	k := controls{}
	why := causes{}
	co := newCoverage(snap.Plan)
	order := eval.NewOrder(snap.Plan)
	err := each(func(r store.Row) error {
		i, repeat, err := order.At(r.Ordinal)
		if err != nil {
			return err
		}
		cells[i].add(r, repeat)
		co.add(repeat, r.Result, r.Tokens)
		t.add(r.Result.Tools)
		f.add(r)
		m.add(cells[i].stats, r.Result)
		why.add(cells[i].stats.Kind, r.Result)
		if cells[i].stats.Kind == eval.KindAgent {
			at := snap.Plan.Cells[i]
			k.add(snap.Cases[at.Case], snap.Variants[at.Variant], r.Result)
			co.agent(r.Result)
		}
		s.Usage = s.Usage.Add(r.Result.Usage)
		s.UserUsage = s.UserUsage.Add(r.Result.UserUsage)
		s.JudgeUsage = s.JudgeUsage.Add(r.Result.JudgeUsage)
		return nil
	})
	if err != nil {
		return eval.Summary{}, fmt.Errorf("summarize run %s: %w", run.ID, err)
	}

	l := labels{}
	for i, c := range cells {
		done := c.finish()
		l.add(snap.Cases[snap.Plan.Cells[i].Case].Labels, done)
		s.Cells = append(s.Cells, done)
		addCounts(&s.Counts, done.Counts)
		s.Steps.Pass += done.Steps.Pass
		s.Steps.Fail += done.Steps.Fail
		kind := s.Kinds[done.Kind]
		addCounts(&kind.Counts, done.Counts)
		s.Kinds[done.Kind] = kind
	}
	for name, kind := range s.Kinds {
		kind.PassRate = passRate(kind.Counts)
		s.Kinds[name] = kind
	}
	s.Tools, s.Latency = t.finish()
	s.Findings = f.finish()
	s.Labels = l.finish()
	s.Metrics = m.finish()
	s.Causes = why.finish()
	s.Cost, s.Coverage = co.finish(run, snap, ledger)
	if s.Incomparable = k.refuse(snap); s.Incomparable == "" {
		s.Compared = snap.Metrics
	}
	return s, nil
}

// A cell gathers the trials of one cell.
type cell struct {
	stats   eval.CellStats
	results int
	latency []float64
	// first and failure are the ordinals of the trials that Scores and Failure
	// are from; -1 for none yet.
	first, failure int
}

func newCell(snap eval.Snapshot, c eval.Cell) *cell {
	ref := snap.Cases[c.Case]
	return &cell{first: -1, failure: -1, stats: eval.CellStats{
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
		c.latency = append(c.latency, res.Times.ModelMS+res.Times.ToolMS)
	case eval.Error, eval.Unfinished, eval.Skipped:
		// Cut short by the farm: the time says nothing of the server.
	}
	if c.first < 0 || r.Ordinal < c.first {
		c.first = r.Ordinal
		c.stats.Scores = res.Scores
		c.stats.Warnings = warnings(res)
	}
	if res.Verdict != eval.Pass && c.worse(res.Verdict, r.Ordinal) {
		c.failure = r.Ordinal
		c.stats.Failure = failure(res, repeat)
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

func (c *cell) finish() eval.CellStats {
	c.stats.Counts.Add(eval.Unfinished, c.stats.Repeats-c.results)
	c.stats.PassRate = passRate(c.stats.Counts)
	c.stats.Latency = percentiles(c.latency)
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

// tools gathers the calls of every tool.
type tools map[string]*tool

type tool struct {
	errors  int
	latency []float64
}

func (t tools) add(uses []eval.ToolUse) {
	for _, use := range uses {
		one := t[use.Tool]
		if one == nil {
			one = &tool{}
			t[use.Tool] = one
		}
		one.latency = append(one.latency, use.LatencyMS)
		if use.Error {
			one.errors++
		}
	}
}

// finish gives the tools by name, and the latency of all calls.
func (t tools) finish() ([]eval.ToolStats, eval.Percentiles) {
	var all []float64
	list := []eval.ToolStats{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		one := t[name]
		all = append(all, one.latency...)
		list = append(list, eval.ToolStats{
			Tool:    name,
			Calls:   len(one.latency),
			Errors:  one.errors,
			Latency: percentiles(one.latency),
		})
	}
	return list, percentiles(all)
}

// findings gathers findings by their code, because the details of noise are
// without end. The detail that is kept is that of the first trial.
type findings map[string]*finding

type finding struct {
	ordinal int
	detail  string
	count   int
}

func (f findings) add(r store.Row) {
	for _, found := range r.Result.Findings {
		one := f[found.Code]
		if one == nil {
			one = &finding{ordinal: r.Ordinal, detail: found.Detail}
			f[found.Code] = one
		}
		if r.Ordinal < one.ordinal {
			one.ordinal, one.detail = r.Ordinal, found.Detail
		}
		one.count += max(found.Count, 1)
	}
}

func (f findings) finish() []eval.Finding {
	var list []eval.Finding
	for _, code := range slices.Sorted(maps.Keys(f)) {
		list = append(list, eval.Finding{Code: code, Detail: f[code].detail, Count: f[code].count})
	}
	return list
}

// passRate speaks of the trials that passed or failed, and of no others.
func passRate(c eval.VerdictCounts) eval.Rate95 {
	n := c.Pass + c.Fail
	ci := stats.Wilson(c.Pass, n, 0.95)
	rate := eval.Rate95{Low: ci.Low, High: ci.High, N: n}
	if n > 0 {
		rate.Value = &ci.Point
	}
	return rate
}

// percentiles sorts ms in place.
func percentiles(ms []float64) eval.Percentiles {
	if len(ms) == 0 {
		return eval.Percentiles{}
	}
	slices.Sort(ms)
	return eval.Percentiles{
		N:   len(ms),
		P50: stats.Percentile(ms, 50, 100),
		P95: stats.Percentile(ms, 95, 100),
		P99: stats.Percentile(ms, 99, 100),
		Max: ms[len(ms)-1],
	}
}

func addCounts(sum *eval.VerdictCounts, c eval.VerdictCounts) {
	for _, v := range eval.Verdicts() {
		sum.Add(v, c.Of(v))
	}
}
