package demo

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// A proxy stands in for a proxy of MCP servers: it answers what such a one would
// say of its upstream servers, of which there are none. A server that a session
// adds, that session alone sees.
type proxy struct {
	tools    []*tool
	data     proxyData
	sessions *perSession[proxySession]
}

type proxyData struct {
	Servers map[string]*upstream `json:"servers"`
	Tools   []struct {
		Server      string `json:"server"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tools"`
	Registries []object       `json:"registries"`
	Cache      map[string]int `json:"cache"` // number of records, by key
}

// An upstream is a server behind the proxy.
type upstream struct {
	Protocol    string   `json:"protocol"`
	Connected   bool     `json:"connected"`
	Quarantined bool     `json:"quarantined"`
	Findings    []string `json:"findings"`
	Log         []string `json:"log"`
	// looks is how often the server was listed since it was added.
	looks int
}

// A proxySession is what one session has changed.
type proxySession struct {
	mu      sync.Mutex
	servers map[string]*upstream
}

func newProxy() (*proxy, error) {
	p := &proxy{}
	if err := decodeFile("proxy/data.json", &p.data); err != nil {
		return nil, err
	}
	p.sessions = newPerSession(p.newSession)
	var err error
	p.tools, err = decodeTools("proxy/tools.json", map[string]answer{
		"retrieve_tools":      func(_ context.Context, given object) reply { return p.retrieveTools(given) },
		"upstream_servers":    p.answer((*proxySession).upstreamServers),
		"server_logs":         p.answer((*proxySession).serverLogs),
		"quarantine_security": p.answer((*proxySession).quarantineSecurity),
		"list_registries":     func(context.Context, object) reply { return reply{object: object{"registries": p.data.Registries}} },
		"read_cache":          func(_ context.Context, given object) reply { return p.readCache(given) },
	})
	return p, err
}

func (p *proxy) newSession() *proxySession {
	s := &proxySession{servers: map[string]*upstream{}}
	for name, u := range p.data.Servers {
		own := *u
		s.servers[name] = &own
	}
	return s
}

// answer makes a tool of what a session can do.
func (p *proxy) answer(ask func(*proxySession, object) reply) answer {
	return func(ctx context.Context, arguments object) reply {
		s := p.sessions.of(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		return ask(s, arguments)
	}
}

func (p *proxy) serve() (*server.MCPServer, error) {
	hooks := &server.Hooks{}
	p.sessions.forgetIn(hooks)
	return newServer("proxy", p.tools, server.WithHooks(hooks))
}
