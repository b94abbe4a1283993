package jobstest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// capabilities: a job is delivered to workers that have all that it requires, and
// to no others.
func capabilities(t *testing.T, b *bench) {
	js := attempts(8)
	for i, requires := range []string{"", "gpu", "gpu.x-ray", "tpu", "", "gpu", "gpu.x-ray", "x-ray"} {
		js[i].Requires = requires
	}
	var plain, able, special log
	b.serve(b.again(), 2, plain.handler)
	gpu := b.Able(b.name, false, "gpu")
	b.serve(gpu, 2, able.handler)
	b.must(b.farm.Enqueue(b.ctx, js[:4]))
	// A queue that a worker hears of while it works.
	b.eventually("what requires a gpu is delivered", func() bool { return able.all()[js[1]] == 1 })
	b.eventually("what requires nothing is delivered", func() bool { return plain.all()[js[0]]+able.all()[js[0]] == 1 })
	b.audit(js[2:4], jobs.Queued, jobs.Queued)

	both := b.Able(b.name, true, "x-ray", "gpu")
	b.serve(both, 2, special.handler)
	b.must(b.farm.Enqueue(b.ctx, js[4:]))
	b.eventually("what requires both, and either, is delivered", func() bool {
		return special.all()[js[2]] == 1 && special.all()[js[6]] == 1 && special.all()[js[7]] == 1 && able.all()[js[5]]+special.all()[js[5]] == 1
	})
	b.eventually("the rest is delivered", func() bool { return plain.all()[js[4]]+able.all()[js[4]] == 1 })
	for name, l := range map[string]*log{"plain": &plain, "gpu": &able, "gpu and x-ray": &special} {
		for j := range l.all() {
			allowed := map[string][]string{"plain": {""}, "gpu": {"", "gpu"}, "gpu and x-ray": {"gpu", "x-ray", "gpu.x-ray"}}[name]
			if !slices.Contains(allowed, j.Requires) {
				t.Errorf("the worker with %s was handed a job that requires %q", name, j.Requires)
			}
		}
	}
	// Nobody has a tpu: the job waits, can be taken out, and is forgotten.
	b.audit(js[3:4], jobs.Queued)
	b.must(b.farm.Delete(b.ctx, js[3:4]))
	b.must(b.farm.Enqueue(b.ctx, js[3:4]))
	b.must(b.farm.Forget(b.ctx, run))

	for i, f := range []Farm{b.farm, gpu, both} {
		_, err := f.Beat(b.ctx, fmt.Sprint("w", i), 2, nil)
		b.must(err)
	}
	got, err := b.farm.Capabilities(b.ctx)
	b.must(err)
	slices.SortFunc(got, slices.Compare)
	if d := cmp.Diff([][]string{{}, {"gpu"}, {"gpu", "x-ray"}}, got); d != "" {
		t.Errorf("capabilities (-want +got):\n%s", d)
	}
	if n, err := b.farm.Slots(b.ctx); err != nil || n != 6 {
		t.Errorf("slots: got %d, %v, want 6", n, err)
	}
}
