package app

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/evalfarm/evalfarm/pkg/worker"
)

// health is that of a worker's process, which has several workers once it has joined.
type health struct {
	hands atomic.Pointer[[]*worker.Worker]
}

func (h *health) of(hands []*worker.Worker) { h.hands.Store(&hands) }

func (h *health) live(context.Context) error {
	hands := h.hands.Load()
	if hands == nil {
		return nil // a worker that cannot join ends by itself
	}
	for _, hand := range *hands {
		if err := hand.Live(); err != nil {
			return err
		}
	}
	return nil
}

func (h *health) ready(context.Context) error {
	hands := h.hands.Load()
	if hands == nil {
		return errors.New("the worker has not joined")
	}
	for _, hand := range *hands {
		if err := hand.Ready(); err != nil {
			return err
		}
	}
	return nil
}
