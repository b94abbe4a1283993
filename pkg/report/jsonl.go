package report

import (
	"fmt"
	"io"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A trialLine is one line of JSONL. Its keys are a public contract: every line
// has all of them, but trace_url only if there is one.
type trialLine struct {
	Run               string            `json:"run"`
	Suite             string            `json:"suite"`
	SuiteHash         string            `json:"suite_hash"`
	Ordinal           int               `json:"ordinal"`
	Case              string            `json:"case"`
	Kind              eval.Kind         `json:"kind"`
	Tags              []string          `json:"tags"`
	Variant           string            `json:"variant"`
	Axes              map[string]string `json:"axes"`
	Repeat            int               `json:"repeat"`
	Attempt           int               `json:"attempt"`
	Verdict           eval.Verdict      `json:"verdict"`
	Reason            eval.Reason       `json:"reason"`
	Message           string            `json:"message"`
	Stop              eval.StopReason   `json:"stop"`
	Scores            []eval.Score      `json:"scores"`
	Counts            eval.Counts       `json:"counts"`
	Times             eval.Times        `json:"times"`
	Usage             eval.Usage        `json:"usage"`
	UserUsage         eval.Usage        `json:"user_usage"`
	JudgeUsage        eval.Usage        `json:"judge_usage"`
	Labels            map[string]string `json:"labels"`
	Tools             []eval.ToolUse    `json:"tools"`
	Listing           *eval.Listing     `json:"listing"`
	Findings          []eval.Finding    `json:"findings"`
	Server            eval.ServerInfo   `json:"server"`
	CostMicroUSD      *int64            `json:"cost_microusd"`
	JudgeCostMicroUSD *int64            `json:"judge_cost_microusd"`
	Worker            string            `json:"worker"`
	TraceID           string            `json:"trace_id"`
	TraceURL          string            `json:"trace_url,omitempty"`
	Started           time.Time         `json:"started"`
	Ended             time.Time         `json:"ended"`
	Trajectory        string            `json:"trajectory"`
	TrajectoryHash    string            `json:"trajectory_hash"`
}

// JSONL writes one line of JSON for every trial that has a result, by ordinal,
// in constant memory.
func JSONL(w io.Writer, d Document) error {
	snap := d.Snapshot
	order := eval.NewOrder(snap.Plan)
	err := d.Each(func(r store.Row) error {
		i, repeat, err := order.At(r.Ordinal)
		if err != nil {
			return err
		}
		c := snap.Plan.Cells[i]
		ref, variant, res := snap.Cases[c.Case], snap.Variants[c.Variant], r.Result
		axes := variant.Axes
		if axes == nil {
			axes = map[string]string{}
		}
		labels := ref.Labels
		if labels == nil {
			labels = map[string]string{}
		}
		raw, err := encode(trialLine{
			Run:               d.Summary.Run,
			Suite:             snap.Suite,
			SuiteHash:         snap.SuiteHash,
			Ordinal:           r.Ordinal,
			Case:              ref.ID,
			Kind:              ref.Kind,
			Tags:              filled(ref.Tags),
			Variant:           variant.ID,
			Axes:              axes,
			Repeat:            repeat,
			Attempt:           r.N,
			Verdict:           res.Verdict,
			Reason:            res.Reason,
			Message:           res.Message,
			Stop:              res.Stop,
			Scores:            filled(res.Scores),
			Counts:            res.Counts,
			Times:             res.Times,
			Usage:             res.Usage,
			UserUsage:         res.UserUsage,
			JudgeUsage:        res.JudgeUsage,
			Labels:            labels,
			Tools:             filled(res.Tools),
			Listing:           res.Listing,
			Findings:          filled(res.Findings),
			Server:            res.Server,
			CostMicroUSD:      res.CostMicroUSD,
			JudgeCostMicroUSD: res.JudgeCostMicroUSD,
			Worker:            r.Worker,
			TraceID:           r.TraceID,
			TraceURL:          r.TraceURL,
			Started:           r.Started,
			Ended:             r.Ended,
			Trajectory:        res.Trajectory,
			TrajectoryHash:    res.TrajectoryHash,
		}, "")
		if err != nil {
			return fmt.Errorf("trial %d: %w", r.Ordinal, err)
		}
		_, err = w.Write(raw)
		return err
	})
	if err != nil {
		return fmt.Errorf("report run %s as JSON lines: %w", d.Summary.Run, err)
	}
	return nil
}

// filled is a list that is [] in JSON when it is empty, not null.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
