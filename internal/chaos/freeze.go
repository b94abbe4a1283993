package chaos

import (
	"context"
	"syscall"
)

// WorkerFrozen stops a worker for longer than a lease, as a suspended machine is. Its
// trials are given to others, and then it goes on.
func WorkerFrozen() Fault {
	return Fault{Name: "a worker is frozen", Leases: 2.5, befall: func(ctx context.Context, f *Farm, s Step) error {
		return frozen(ctx, f.worker(s), s)
	}}
}

// SchedulerFrozen stops a scheduler for longer than the lease of a leader. If it
// leads, there are two leaders when it goes on.
func SchedulerFrozen() Fault {
	return Fault{Name: "a scheduler is frozen", Leases: 2, befall: func(ctx context.Context, f *Farm, s Step) error {
		return frozen(ctx, f.scheduler(s), s)
	}}
}

func frozen(ctx context.Context, p *process, s Step) error {
	p.busy.Lock()
	defer p.busy.Unlock()
	p.signal(syscall.SIGSTOP)
	pass(ctx, s.For)
	p.signal(syscall.SIGCONT)
	return nil
}
