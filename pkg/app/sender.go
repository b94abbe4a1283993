package app

import (
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/notify"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Sender makes the sender of a store's notices to all targets.
func (c Config) Sender(s store.Store) *notify.Sender { return c.sender(s, c.Targets) }

// LocalSender makes the sender to those targets that are told of runs which one
// process carries out: a run on a laptop wakes nobody up who did not ask for it.
func (c Config) LocalSender(s store.Store) *notify.Sender {
	return c.sender(s, slices.DeleteFunc(slices.Clone(c.Targets), func(t eval.Target) bool { return !t.Local }))
}

func (c Config) sender(s store.Store, targets []eval.Target) *notify.Sender {
	return notify.New(s, notify.Options{Targets: targets, Traces: c.Traces, Secret: c.Secret, Version: c.Version, Logger: c.logger()})
}
