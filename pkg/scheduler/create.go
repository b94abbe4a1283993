package scheduler

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// ErrEmpty is returned by Create when the selection matches no trial.
var ErrEmpty = errors.New("there is nothing to run")

// A Request asks for a run.
type Request struct {
	Suite *suite.Loaded
	// Selection narrows the suite.
	Selection suite.Selection
	// Seed of the order and of the trials.
	Seed uint64
	// Git commit of the suite file, if known.
	Git *eval.Git
	// Traceparent of who asks, as [telemetry.Caller] gives it.
	Traceparent string
	// Version of this evalfarm.
	Version string
	// Budget replaces that of the suite, number by number. DayMicroUSD bounds all
	// runs of a UTC day. Zero is no bound.
	Budget      eval.Budget
	DayMicroUSD int64
	// Schedule that asks for the run, and the bound of all its runs in
	// ScheduleMicroUSD.
	Schedule         string
	ScheduleMicroUSD int64
	// Notify names the targets that are told of its end; none means those that want
	// to be.
	Notify []string
	// ID of the run; empty mints one.
	ID string
	// Baseline that the gate compares with, and the blobs that it names. Waivers and
	// Quarantines are applied by the gate.
	Baseline      *eval.BaselineRef
	BaselineBlobs []eval.Blob
	Waivers       []eval.Waiver
	Quarantines   []eval.Quarantine
	// Agreement of the judge with people that the gate goes by while nobody has
	// reviewed the run itself.
	Agreement *eval.Agreement
	// Prices names the version of the price list that the models' prices are from.
	Prices string
	// Rounds is how many repeats the budget is taken to afford, where the suite lets
	// it decide. Zero: as many as it can hold for.
	Rounds int
	// Attempts and MaxLost; zero means 3 and 10.
	Attempts, MaxLost int
	// Priority weighs the run against others of its Tenant; zero means 1.
	Priority int
	Tenant   string
	// Key under which its tenant asks for the run, for [CreateOnce]; Asked is what
	// [Asked] says of the request.
	Key, Asked string
	// Carrier is who is to carry the run out; empty means the process that creates
	// it.
	Carrier eval.Carrier
}

// branch of the suite; empty if nobody knows.
func (r *Request) branch() string {
	if r.Git == nil {
		return ""
	}
	return r.Git.Branch
}

// A Creator stores new runs.
type Creator interface {
	CreateRun(ctx context.Context, r eval.Run, blobs []eval.Blob, gradings ...eval.Run) error
}

// Create freezes a suite into a run and stores it. Nothing is dispatched before
// a scheduler adopts it.
func Create(ctx context.Context, s Creator, req Request) (eval.Run, error) {
	run, snap, blobs, err := freeze(req, time.Now())
	if err != nil {
		return eval.Run{}, err
	}
	var gradings []eval.Run
	if _, there := judges(req.Suite.Suite.Cases); there {
		g, header := grading(run, snap, 1, eval.Grading{})
		g.Carrier = run.Carrier
		run.Grading = g.ID
		gradings, blobs = append(gradings, g), append(blobs, header)
	}
	if err := s.CreateRun(ctx, run, blobs, gradings...); err != nil {
		return eval.Run{}, fmt.Errorf("store run %s: %w", run.ID, err)
	}
	return run, nil
}

// freeze makes the run and its snapshot, and the blobs of its header and cases.
func freeze(req Request, now time.Time) (eval.Run, eval.Snapshot, []eval.Blob, error) {
	loaded := req.Suite
	matrix, err := suite.Expand(&loaded.Suite, req.Selection)
	if err != nil {
		return eval.Run{}, eval.Snapshot{}, nil, refuse("run less of it: fewer cases, values of axes or repeats", "expand suite %s: %s", loaded.Suite.Name, err)
	}
	if len(matrix.Cells) == 0 {
		if matrix.Excluded > 0 {
			return eval.Run{}, eval.Snapshot{}, nil, fmt.Errorf("%w: exclude removes all %d cells", ErrEmpty, matrix.Excluded)
		}
		return eval.Run{}, eval.Snapshot{}, nil, ErrEmpty
	}
	budget := loaded.Suite.Budget.Over(req.Budget)
	judge, _ := judges(loaded.Suite.Cases)
	snap := eval.Snapshot{
		Version: req.Version, Suite: loaded.Suite.Name, SuiteHash: loaded.Hash, Dir: loaded.Dir, Git: req.Git, Traceparent: req.Traceparent,
		Servers: loaded.Suite.Servers, Models: loaded.Suite.Models, Axes: loaded.Suite.Axes, Variants: matrix.Variants,
		Plan:    eval.Plan{Seed: req.Seed, Cells: matrix.Cells},
		Partial: len(req.Selection.Cases)+len(req.Selection.Tags)+len(req.Selection.Axes) > 0,
		Gate:    loaded.Suite.Gate, Validity: loaded.Suite.Validity,
		MinRepeats: loaded.Suite.MinRepeats, Metrics: loaded.Suite.Metrics, Controlled: loaded.Suite.Controlled,
		Judge: judge, Oracle: loaded.Suite.Oracle, MinAgreement: loaded.Suite.MinAgreement,
		Conditions: loaded.Suite.Conditions,
		Prices:     req.Prices, Baseline: req.Baseline, Waivers: req.Waivers, Quarantines: req.Quarantines, Agreement: req.Agreement,
	}
	if req.Schedule != "" && len(snap.Gate.Rules) > 0 && snap.Gate.Alpha == 0 {
		snap.Gate.Alpha = scheduledAlpha
	}
	blobs := slices.Clone(req.BaselineBlobs)
	for _, c := range loaded.Suite.Cases {
		b := blob.Pack(eval.Encode(c))
		blobs = append(blobs, b)
		snap.Cases = append(snap.Cases, c.Ref(b.SHA256))
	}
	if slices.ContainsFunc(matrix.Cells, func(c eval.Cell) bool { return c.Sequential }) {
		snap.Plan.Looks = loaded.Suite.Repeats.Looks()
	}
	holdsOf(snap, loaded.Suite.Cases)
	part, err := reserve(snap, budget)
	if err != nil {
		return eval.Run{}, eval.Snapshot{}, nil, err
	}
	if loaded.Suite.Repeats.Fit != "" && req.Selection.Repeats == 0 {
		if err := fit(&snap, loaded.Suite, eval.Run{Budget: budget, Reserve: part}.Own(), req.Rounds); err != nil {
			return eval.Run{}, eval.Snapshot{}, nil, err
		}
	}
	header := blob.Pack(eval.Encode(snap))
	run := eval.Run{
		ID: cmp.Or(req.ID, newRunID(now)), Suite: snap.Suite, SuiteHash: snap.SuiteHash, SuitePath: loaded.Path,
		State: eval.RunQueued, Control: eval.ControlRun, Header: header.SHA256,
		Trials: snap.Plan.Trials(), Attempts: or(req.Attempts, 3), MaxLost: or(req.MaxLost, 10),
		Priority: or(req.Priority, 1), Tenant: req.Tenant, Key: req.Key, Asked: req.Asked, Carrier: cmp.Or(req.Carrier, eval.CarrierProcess), Created: now.UTC(),
		Budget: budget, DayMicroUSD: req.DayMicroUSD, Schedule: req.Schedule, ScheduleMicroUSD: req.ScheduleMicroUSD,
		Notify: req.Notify, Reserve: part,
	}
	if err := checkBudget(run, snap, loaded.Suite.Cases); err != nil {
		return eval.Run{}, eval.Snapshot{}, nil, err
	}
	return run, snap, append(blobs, header), nil
}

// scheduledAlpha is the chance of a false alarm that a run of a schedule may have whose
// gate names none: it adds up over the nights, and nobody waits for the answer.
const scheduledAlpha = 0.01

func or(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// newRunID makes "r-YYYYMMDD-" and six letters of base32, which is 30 bits.
func newRunID(now time.Time) string {
	return "r-" + now.UTC().Format("20060102") + "-" + rand.Text()[:6]
}
