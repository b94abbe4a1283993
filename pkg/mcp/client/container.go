package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/evalfarm/evalfarm/pkg/container"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// image finds the image of a server, before its start is timed: to fetch one can
// take minutes.
func (o *Opener) image(ctx context.Context, spec Spec) (container.Image, error) {
	o.reap(ctx)
	box := spec.Server.Container
	image, err := o.engine.Image(ctx, spec.Run, box.Image, box.Pull)
	if err == nil {
		return image, nil
	}
	if ctx.Err() != nil {
		return container.Image{}, fmt.Errorf("open server %s: %w", spec.Name, context.Cause(ctx))
	}
	return container.Image{}, &StartError{Server: spec.Name, Reason: engineReason(err), Detail: err.Error()}
}

// engineReason says what it means that a container engine did not do something.
func engineReason(err error) eval.Reason {
	if e, ok := errors.AsType[*container.Error](err); ok && !e.Passing {
		return eval.ReasonStartFailed
	}
	return eval.ReasonUnreachable
}

// containerOf makes the dialer that starts a server in a container.
func containerOf(image container.Image) dialer {
	return func(s *Session, o *Opener, _ profile) (transport.Interface, error) {
		server := s.spec.Server
		box, err := o.engine.Container(container.Spec{
			Server: s.spec.Name, For: cmp.Or(s.spec.Attempt, s.spec.Run), Container: server.Container, Image: image,
			Command: server.Command, Env: server.Env, Dir: s.spec.Dir,
		})
		if err != nil {
			return nil, err
		}
		s.box, s.image = box, image
		return s.launch(o, wire.Command{Args: box.Args(), Env: box.Environ(), Dir: "/", Cleanup: box.End})
	}
}

// reap removes the containers of dead workers, once.
func (o *Opener) reap(ctx context.Context) {
	if o.o.Orphans == "" {
		return
	}
	o.reaped.Do(func() {
		n, err := o.engine.Sweep(ctx, o.o.Orphans)
		switch {
		case err != nil:
			// Most workers start no container, so an engine that does not answer is no
			// trouble yet.
			o.log.InfoContext(ctx, "sweep containers of dead workers", "error", err)
		case n > 0:
			o.log.WarnContext(ctx, "sweep containers of dead workers", "removed", n)
		}
	})
}

// containerFate says what the end of the engine's command means when it is not
// simply the server's own end; ok is false when it is.
func (s *Session) containerFate() (reason eval.Reason, detail string, ok bool) {
	if s.box == nil {
		return "", "", false
	}
	limit := cmp.Or(s.spec.Server.Container.Memory, "that of the machine")
	switch s.box.Fate() {
	case container.FateMemory:
		return eval.ReasonServerCrashed, "the container ran out of memory (limit: " + limit + ") and the server was killed", true
	case container.FateKilled:
		return eval.ReasonServerCrashed, "the server was killed (SIGKILL), perhaps because it ran out of memory (limit: " + limit + ")", true
	case container.FateNotStarted:
		return eval.ReasonStartFailed, "the container was not started", true
	case container.FateRuns:
		return eval.ReasonFarm, "the command of the container engine ended, and the server did not", true
	case container.FateNoEngine, container.FateUnknown: // it has ended, and the engine takes its time
		return eval.ReasonUnreachable, "the command of the container engine ended, and the engine does not answer", true
	case container.FateEnded:
	}
	return "", "", false
}
