package demo

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// A perSession keeps a state for each MCP session, made when it is first asked
// for and forgotten when the session ends. Requests without a session share one.
type perSession[S any] struct {
	mu   sync.Mutex
	all  map[string]*S
	make func() *S
}

func newPerSession[S any](first func() *S) *perSession[S] {
	return &perSession[S]{all: map[string]*S{}, make: first}
}

// of is the state of the session that a request belongs to.
func (p *perSession[S]) of(ctx context.Context) *S {
	id := ""
	if s := server.ClientSessionFromContext(ctx); s != nil {
		id = s.SessionID()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[id] == nil {
		p.all[id] = p.make()
	}
	return p.all[id]
}

// forgetIn makes hooks forget the state of sessions that end.
func (p *perSession[S]) forgetIn(hooks *server.Hooks) {
	hooks.AddOnUnregisterSession(func(_ context.Context, s server.ClientSession) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, s.SessionID())
	})
}
