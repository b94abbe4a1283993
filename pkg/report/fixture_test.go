package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A farm makes runs for tests: a snapshot, rows, and what aggregate makes of
// them.
type farm struct {
	snap eval.Snapshot
	rows []store.Row
	run  eval.Run
}

func newFarm(suite string) *farm {
	created := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	return &farm{
		snap: eval.Snapshot{Version: "0.1.0", Suite: suite, SuiteHash: "sha256:5u17e", Git: &eval.Git{Commit: "3f9a2c1"}},
		run: eval.Run{
			ID: "r-20261130-ABCDEF", Suite: suite, Outcome: eval.OutcomeComplete,
			Created: created, Finished: created.Add(1234 * time.Millisecond),
		},
	}
}

// add plans a cell with a trial for each result; a nil one is unfinished. Cells
// must be added with all of their results, and repeats in the first cell only
// work out if all cells have the same number.
func (f *farm) add(ref eval.CaseRef, variant eval.Variant, results ...*eval.Result) {
	f.snap.Cases = append(f.snap.Cases, ref)
	f.snap.Variants = append(f.snap.Variants, variant)
	n := len(f.snap.Cases) - 1
	f.snap.Plan.Cells = append(f.snap.Plan.Cells, eval.Cell{Case: n, Variant: n, Repeats: len(results)})
	for _, r := range results {
		if r != nil {
			// The ordinal is set once the plan is known.
			f.rows = append(f.rows, store.Row{Ordinal: n, N: 1, UID: fmt.Sprintf("u%d", len(f.rows)), Worker: "w1", Started: f.run.Created, Ended: f.run.Finished, Result: *r})
		}
	}
}

func (f *farm) script(id string, results ...*eval.Result) {
	f.add(eval.CaseRef{ID: id, Kind: eval.KindScript}, eval.NewVariant(nil), results...)
}

func (f *farm) document(tb testing.TB) Document {
	tb.Helper()
	rows := f.ordered(tb)
	each := func(fn func(store.Row) error) error {
		for _, r := range rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	}
	s, err := aggregate.Summarize(f.run, f.snap, each, eval.Ledger{})
	if err != nil {
		tb.Fatal(err)
	}
	gate.Decide(&s, f.snap, gate.Arms{})
	return Document{Summary: s, Snapshot: f.snap, Each: each}
}

// ordered gives the rows their ordinals: the results of a cell go to its
// repeats in order.
func (f *farm) ordered(tb testing.TB) []store.Row {
	tb.Helper()
	byCell := map[int][]store.Row{}
	for _, r := range f.rows {
		byCell[r.Ordinal] = append(byCell[r.Ordinal], r)
	}
	var rows []store.Row
	order := eval.NewOrder(f.snap.Plan)
	for o := range f.snap.Plan.Trials() {
		cell, _, err := order.At(o)
		if err != nil {
			tb.Fatal(err)
		}
		if left := byCell[cell]; len(left) > 0 {
			left[0].Ordinal = o
			rows = append(rows, left[0])
			byCell[cell] = left[1:]
		}
	}
	return rows
}

func pass(tool string, ms float64) *eval.Result {
	return &eval.Result{
		Verdict: eval.Pass, Stop: eval.StopDone,
		Scores: []eval.Score{{Check: "1", Value: 1, Pass: true, LatencyMS: ms, Target: tool}},
		Counts: eval.Counts{StepsPass: 1, Turns: 1, ToolCalls: 1},
		Times:  eval.Times{ToolMS: ms, TotalMS: ms + 1},
		Tools:  []eval.ToolUse{{Tool: tool, LatencyMS: ms}},
	}
}

func fail(tool string, s eval.Score) *eval.Result {
	s.Target = tool
	return &eval.Result{
		Verdict: eval.Fail, Stop: eval.StopDone, Reason: s.Reason, Message: s.Message,
		Scores: []eval.Score{s},
		Counts: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 1},
		Times:  eval.Times{ToolMS: 2, TotalMS: 3},
		Tools:  []eval.ToolUse{{Tool: tool, LatencyMS: 2}},
	}
}

func broken(r eval.Reason, message, stderr string) *eval.Result {
	return &eval.Result{Verdict: eval.Error, Stop: eval.StopNotStarted, Reason: r, Message: message, Stderr: stderr}
}

// quickstart is 12 script cases and a catalog that pass.
func quickstart() *farm {
	f := newFarm("quickstart")
	for i, tool := range []string{"getCustomerStatus", "getZoneHealthLogs", "getSLACompliance", "getAuditTrail"} {
		for j := range 3 {
			f.script(fmt.Sprintf("%s/%d", []string{"customer", "zone", "sla", "audit"}[i], j+1), pass(tool, 1.5+float64(3*i+j)))
		}
	}
	f.add(eval.CaseRef{ID: "listing", Kind: eval.KindCatalog}, eval.NewVariant(nil), &eval.Result{
		Verdict: eval.Pass,
		Scores: []eval.Score{
			{Check: "object_schema", Value: 1, Pass: true},
			{Check: "root_any_of", Warning: true, Message: "tool getAuditTrail has anyOf at the root of its schema", Target: "getAuditTrail"},
		},
		Listing: &eval.Listing{Tools: 5, ContextTokens: 812, Fingerprint: "sha256:aa"},
	})
	return f
}

// troubled is a run with something of everything.
func troubled() *farm {
	f := newFarm("tool-accuracy")
	f.script("customer-active-enterprise", fail("getCustomerStatus", eval.Score{
		Check: "1", Reason: eval.ReasonMismatch, Message: `tier: want "ENTERPRISE_TIER", got "ENTERPRISE"`,
		Expected: eval.JSON(`{"tier":"ENTERPRISE_TIER"}`),
		Actual:   eval.JSON(`{"customerId":"CUST-4091","status":"ACTIVE","tier":"ENTERPRISE","primaryRegion":"US-EAST-1","note":"this answer is so long that it does not fit on two lines of the screen, which is what happens to answers of real servers all of the time"}`),
	}))
	f.script("customer-unknown", fail("getCustomerStatus", eval.Score{
		Check: "1", Reason: eval.ReasonTimeout, Message: "no answer within 30s",
	}))
	f.script("customer-suspended", pass("getCustomerStatus", 3))
	f.add(eval.CaseRef{ID: "customer-suspended-acme", Kind: eval.KindScript}, eval.NewVariant(map[string]string{"tenant": "acme"}), pass("getCustomerStatus", 4))
	f.add(eval.CaseRef{ID: "audit-workflow", Kind: eval.KindScript, Workflow: true}, eval.NewVariant(nil), &eval.Result{
		Verdict: eval.Fail, Stop: eval.StopDone, Reason: eval.ReasonCountMismatch, Message: "want 6 items, got 5",
		Scores: []eval.Score{
			{Check: "lookup-customer", Value: 1, Pass: true, LatencyMS: 2, Target: "getCustomerStatus"},
			{Check: "check-zones", Reason: eval.ReasonCountMismatch, Message: "want 6 items, got 5", Expected: eval.JSON(`6`), Actual: eval.JSON(`5`), LatencyMS: 40, Target: "getZoneHealthLogs"},
			{Check: "verify-sla", Reason: eval.ReasonVariableMissing, Message: "nothing extracted the variable region"},
		},
		Counts:   eval.Counts{StepsPass: 1, StepsFail: 2, Turns: 2, ToolCalls: 2},
		Times:    eval.Times{ToolMS: 42},
		Tools:    []eval.ToolUse{{Tool: "getCustomerStatus", LatencyMS: 2}, {Tool: "getZoneHealthLogs", LatencyMS: 40, Error: true}},
		Findings: []eval.Finding{{Code: "stdout_noise", Detail: "INFO starting up", Count: 3}},
	})
	f.add(eval.CaseRef{ID: "listing", Kind: eval.KindCatalog}, eval.NewVariant(nil), &eval.Result{
		Verdict: eval.Fail, Reason: eval.ReasonCatalogRule, Message: "1 of 9 rules broken",
		Scores: []eval.Score{
			{Check: "object_schema", Value: 1, Pass: true},
			{Check: "root_all_of", Reason: eval.ReasonCatalogRule, Message: "tool getAuditTrail has allOf at the root of its schema", Target: "getAuditTrail"},
		},
	})
	f.script("never-starts", broken(eval.ReasonStartExited, "the server exited with status 1 before initialize", "Traceback (most recent call last):\n  File \"server.py\", line 1\nModuleNotFoundError: No module named 'mcp'\n"))
	f.script("not-reached", nil)
	f.script("open", &eval.Result{Verdict: eval.Unjudged, Message: "the judge refused"})
	f.run.Outcome = eval.OutcomeRunCancelled
	return f
}

// big is 300 cells of which many fail, ten repeats each.
func big() *farm {
	f := newFarm("nightly")
	for i := range 300 {
		var results []*eval.Result
		for j := range 10 {
			switch {
			case i%7 == 0 && j > 6:
				results = append(results, fail("search", eval.Score{Check: "1", Reason: eval.ReasonMismatch, Message: "total: want 3, got 4", Expected: eval.JSON(`{"total":3}`), Actual: eval.JSON(`{"total":4}`)}))
			case i%50 == 1:
				results = append(results, broken(eval.ReasonUnreachable, "connection refused", ""))
			default:
				results = append(results, pass([]string{"search", "fetch", "list", "open", "close"}[i%5], float64(i)))
			}
		}
		f.script(fmt.Sprintf("case-%03d", i), results...)
	}
	return f
}
