package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/score"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// An oracle scores the stored trials of a run, in this process.
type oracle struct {
	c     *command
	store store.Store
	run   eval.Run
	snap  eval.Snapshot
	// path of the file, as it was given, and by whom scores then are.
	path, by string
	// answers are the checks of each metric of each scenario.
	answers map[string]map[string][]eval.Check
	// cases that were read, by their place in the snapshot.
	cases map[int]eval.Case
	// scored and open count the metrics, trial by trial.
	scored, open int
}

// askOracle scores a run by the oracle in a file, and prints what it comes to.
func (c *command) askOracle(ctx context.Context, f *carrying, s store.Store, run eval.Run, path string) error {
	outputs, err := parseOutputs(f.outputs, f.json)
	if err != nil {
		return err
	}
	o := oracle{c: c, store: s, run: run, path: path, cases: map[int]eval.Case{}}
	if err := blob.LoadJSON(ctx, s, run.Header, &o.snap); err != nil {
		return err
	}
	if err := o.read(); err != nil {
		return err
	}
	summary, err := o.grade(ctx)
	if err != nil {
		return fmt.Errorf("score run %s by its oracle: %w", run.ID, err)
	}
	return c.conclude(ctx, outputs, f.quiet, here{s, c}, summary)
}

// read reads the file, if it is the one whose hash the run knows.
func (o *oracle) read() error {
	want := o.snap.Oracle
	if want == nil {
		return usage("a condition fixture names its own as external_oracle", "run %s has no oracle", o.run.ID)
	}
	data, err := os.ReadFile(o.c.env.abs(o.path))
	if err != nil {
		return usage("", "--oracle: %s", err)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want.SHA256 {
		return usage("", "--oracle %s: it is not the oracle of run %s: want the sha256 %s, got %s", o.path, o.run.ID, want.SHA256, got)
	}
	loaded, err := suite.LoadOracle(o.path, data)
	if err != nil {
		return err
	}
	o.c.problems(loaded.Warnings)
	o.answers = loaded.Scenarios
	o.by = strings.TrimSpace("oracle " + report.Line(want.Version, 100))
	var known []string
	for _, ref := range o.snap.Cases {
		known = append(known, ref.ID)
	}
	for _, scenario := range slices.Sorted(maps.Keys(o.answers)) {
		o.unasked("the run has no scenario", scenario, known)
	}
	return nil
}

// unasked warns of what the file has and nothing of the run asks for.
func (o *oracle) unasked(message, name string, known []string) {
	if slices.Contains(known, name) {
		return
	}
	hint := ""
	if near := strictyaml.Closest(name, known); near != "" {
		hint = fmt.Sprintf("; %q is near", near)
	}
	fmt.Fprintf(o.c.env.Stderr, "warning: %s: %s %s%s\n", o.path, message, strictyaml.Quote(name), hint)
}

// grade adds a grading, scores every trial and makes the grading count.
func (o *oracle) grade(ctx context.Context) (eval.Summary, error) {
	g, n, err := scheduler.Grade(ctx, o.store, o.run, eval.Grading{By: o.by}, true)
	if err != nil {
		return eval.Summary{}, err
	}
	fmt.Fprintf(o.c.env.Stderr, "grading %s: %s to score by the %s\n", g.ID, plural(n, "trial"), o.by)
	order := eval.NewOrder(o.snap.Plan)
	for {
		due, err := o.store.Outstanding(ctx, g.ID) // a few thousand at a time
		if err != nil {
			return eval.Summary{}, err
		}
		if len(due) == 0 {
			break
		}
		var records []eval.Record
		for _, d := range due {
			scores, err := o.trial(ctx, order, d)
			if err != nil {
				return eval.Summary{}, err
			}
			records = append(records, said(g.ID, o.by, d, scores))
		}
		if err := keep(ctx, o.store, g.ID, records...); err != nil {
			return eval.Summary{}, err
		}
	}
	fmt.Fprintf(o.c.env.Stderr, "%s given, %d left open\n", plural(o.scored, "score"), o.open)
	return scheduler.EndGrading(ctx, o.store, g)
}

// trial scores one trial. What the file says nothing about keeps what others
// said of it.
func (o *oracle) trial(ctx context.Context, order *eval.Order, d store.Trial) ([]eval.Score, error) {
	cell, repeat, err := order.At(d.Ordinal)
	if err != nil {
		return nil, err
	}
	at := o.snap.Plan.Cells[cell]
	c, err := o.testCase(ctx, at.Case)
	if err != nil {
		return nil, err
	}
	row, err := o.store.Result(ctx, o.run.ID, d.Ordinal)
	if err != nil {
		return nil, err
	}
	var tr eval.Trajectory
	if err := blob.LoadJSON(ctx, o.store, d.Subject, &tr); err != nil {
		return nil, err
	}
	subject := score.Subject{
		Case:       c,
		Trial:      eval.Trial{Run: o.run.ID, Ordinal: d.Ordinal, Case: o.snap.Cases[at.Case], Variant: o.snap.Variants[at.Variant], Repeat: repeat},
		Trajectory: tr, Counts: row.Result.Counts, Usage: row.Result.Usage, CostMicroUSD: row.Result.CostMicroUSD, Stop: row.Result.Stop,
	}
	scores := judgements(row.Result.Scores)
	for _, metric := range c.Checks {
		if !semantic(metric) {
			continue
		}
		checks, ok := o.answers[c.ID][metric.ID]
		if !ok {
			continue
		}
		scores = slices.DeleteFunc(scores, func(s eval.Score) bool { return s.Check == metric.ID })
		s, err := o.score(ctx, metric.ID, checks, subject)
		if err != nil {
			return nil, err
		}
		scores = append(scores, s)
	}
	for _, s := range scores {
		if s.Pending {
			o.open++
		}
	}
	return scores, nil
}

// semantic says whether a check is a metric for an oracle or a reviewer.
func semantic(c eval.Check) bool { return c.Text != nil && c.Text.Sentence }

// testCase reads a case, once, and warns of metrics that it does not have.
func (o *oracle) testCase(ctx context.Context, i int) (eval.Case, error) {
	if c, ok := o.cases[i]; ok {
		return c, nil
	}
	var c eval.Case
	if err := blob.LoadJSON(ctx, o.store, o.snap.Cases[i].Blob, &c); err != nil {
		return c, err
	}
	var known []string
	for _, check := range c.Checks {
		if semantic(check) {
			known = append(known, check.ID)
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(o.answers[c.ID])) {
		o.unasked(fmt.Sprintf("the scenario %s has no metric", strictyaml.Quote(c.ID)), metric, known)
	}
	o.cases[i] = c
	return c, nil
}

// score decides one metric: it passes when all its checks do, with their weighted
// mean as its value.
func (o *oracle) score(ctx context.Context, metric string, checks []eval.Check, subject score.Subject) (eval.Score, error) {
	all := eval.Check{ID: metric, All: checks}
	if len(checks) == 1 { // which speaks for itself
		all = checks[0]
		all.ID = metric
	}
	filled, err := score.Fill(all, nil)
	if err != nil {
		return eval.Score{}, err
	}
	s := score.Checks(ctx, []eval.Check{filled}, subject, score.Options{})[0]
	message := eval.ScoredBy + o.by
	if s.Message != "" {
		message += ": " + s.Message
	}
	s.Message = message
	o.scored++
	return s, nil
}
