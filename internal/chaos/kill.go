package chaos

import "context"

// WorkerKilled is a kill -9 of a worker, which comes back after a while.
func WorkerKilled() Fault {
	return Fault{Name: "a worker is killed", Leases: 0.5, befall: func(ctx context.Context, f *Farm, s Step) error {
		return killed(ctx, f.worker(s), s)
	}}
}

// SchedulerKilled is a kill -9 of a scheduler, be it the leader or not, which comes
// back after a while.
func SchedulerKilled() Fault {
	return Fault{Name: "a scheduler is killed", Leases: 0.5, befall: func(ctx context.Context, f *Farm, s Step) error {
		return killed(ctx, f.scheduler(s), s)
	}}
}

func killed(ctx context.Context, p *process, s Step) error {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.kill()
	pass(ctx, s.For)
	return p.start()
}
