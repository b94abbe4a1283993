package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// plans remembers the snapshots of the runs that the worker has met lately.
type plans struct {
	blobs blob.Store

	mu     sync.Mutex // guards the following fields
	byHash map[string]*plan
	recent []string // headers, the latest last
}

// keepPlans is how many runs a worker may interleave without reading a snapshot
// twice. A snapshot of a large matrix takes a few megabytes.
const keepPlans = 8

func newPlans(s blob.Store) *plans {
	return &plans{blobs: s, byHash: map[string]*plan{}}
}

// plan is a snapshot and what resolving its ordinals needs.
type plan struct {
	blobs blob.Store
	snap  eval.Snapshot

	mu    sync.Mutex // guards order
	order *eval.Order
}

// judged is the run whose trials are judged; empty for one that carries out its own.
func (p *plan) judged() string {
	if g := p.snap.Grading; g != nil {
		return g.Run
	}
	return ""
}

func (ps *plans) get(ctx context.Context, header string) (*plan, error) {
	ps.mu.Lock()
	p, ok := ps.byHash[header]
	ps.mu.Unlock()
	if ok {
		return p, nil
	}
	p = &plan{blobs: ps.blobs}
	if err := blob.LoadJSON(ctx, ps.blobs, header, &p.snap); err != nil {
		return nil, fmt.Errorf("read the run's snapshot: %w", err)
	}
	p.order = eval.NewOrder(p.snap.Plan)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if known, ok := ps.byHash[header]; ok {
		return known, nil
	}
	ps.byHash[header] = p
	ps.recent = append(ps.recent, header)
	if len(ps.recent) > keepPlans {
		delete(ps.byHash, ps.recent[0])
		ps.recent = ps.recent[1:]
	}
	return p, nil
}

// trial resolves a job to its trial and case.
func (p *plan) trial(ctx context.Context, j jobs.Job) (eval.Trial, eval.Case, error) {
	p.mu.Lock()
	cell, repeat, err := p.order.At(j.Ordinal)
	p.mu.Unlock()
	if err != nil {
		return eval.Trial{}, eval.Case{}, err
	}
	at := p.snap.Plan.Cells[cell]
	ref := p.snap.Cases[at.Case]
	// Decoded anew for every trial: it takes microseconds, and a suite may have a
	// hundred thousand cases.
	var c eval.Case
	if err := blob.LoadJSON(ctx, p.blobs, ref.Blob, &c); err != nil {
		return eval.Trial{}, eval.Case{}, fmt.Errorf("read case %s: %w", ref.ID, err)
	}
	return eval.Trial{
		Run: j.Run, Ordinal: j.Ordinal, Case: ref, Variant: p.snap.Variants[at.Variant],
		Repeat: repeat, Seed: p.snap.Plan.SeedOf(ref.ID, repeat),
	}, c, nil
}
