package aggregate

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
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
// Memory grows with the cells and tools, not with the trials: what a trial took is
// kept as it is up to some thousands for each, and counted by its size beyond. The
// summary does not depend on the order in which results come, but it is
// made fastest, and in least memory, in the order of ordinals.
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
	inRounds := newRounds(snap.Plan)
	co := &coverage{}
	order := eval.NewOrder(snap.Plan)
	err := each(func(r store.Row) error {
		i, repeat, err := order.At(r.Ordinal)
		if err != nil {
			return err
		}
		cells[i].add(r, repeat)
		inRounds.add(cells[i], repeat, r.Result.Verdict)
		co.add(r.Result, r.Tokens)
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

	n := newNumbers()
	l := labels{}
	kinds := map[eval.Kind][]*cell{}
	for i, c := range cells {
		c.close()
		l.add(snap.Cases[snap.Plan.Cells[i].Case].Labels, c)
		kinds[c.stats.Kind] = append(kinds[c.stats.Kind], c)
		s.Counts = s.Counts.Plus(c.stats.Counts)
		s.Steps.Pass += c.stats.Steps.Pass
		s.Steps.Fail += c.stats.Steps.Fail
	}
	for kind, of := range kinds {
		s.Kinds[kind] = n.of(of)
	}
	s.Groups = groups(cells, n)
	for _, c := range cells {
		s.Cells = append(s.Cells, c.finish(n))
	}
	s.Tools, s.Latency = t.finish(n.ranks)
	s.Findings = f.finish()
	s.Labels = l.finish(n)
	s.Metrics = m.finish()
	s.Causes = why.finish()
	s.Cost, s.Coverage = co.finish(run, snap, ledger, inRounds)
	if s.Incomparable = k.refuse(snap); s.Incomparable == "" {
		s.Compared = snap.Metrics
	}
	return s, nil
}
