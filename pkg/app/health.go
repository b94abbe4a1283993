package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/store"
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

// readable is the probe of a scheduler: it can be given work while it can read its
// store.
func readable(s store.Store) httpapi.Probe {
	return httpapi.Probe{Ready: func(ctx context.Context) error {
		if _, err := s.ListRuns(ctx, store.RunFilter{Limit: 1}); err != nil {
			return errors.New("the store cannot be read")
		}
		return nil
	}}
}

// serveHealth serves the health and the metrics of the process to anybody, until ctx
// ends. Without a listener it does nothing.
func (c Config) serveHealth(ctx context.Context, l net.Listener, p httpapi.Probe) error {
	if l == nil {
		return nil
	}
	p.Metrics = c.MetricsHandler
	return serve(ctx, l, p.Over(http.NotFoundHandler()))
}
