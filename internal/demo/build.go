package demo

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

// A demo is a server ready to be served.
type demo struct {
	mcp *server.MCPServer
	// guard looks at each HTTP request first; nil lets every one in.
	guard func(http.Handler) http.Handler
}

func (d demo) guarded(next http.Handler) http.Handler {
	if d.guard == nil {
		return next
	}
	return d.guard(next)
}

// Names lists the demo servers.
func Names() []string { return []string{"acme", "desk", "proxy"} }

// Check says what is wrong with options, without serving anything.
func Check(o Options) error {
	_, err := build(o)
	return err
}

// build makes the server that options ask for, whole or with its regression.
func build(o Options) (demo, error) {
	if !slices.Contains(Names(), o.Name) {
		return demo{}, fmt.Errorf("unknown demo server %q; there are %s", o.Name, strings.Join(Names(), ", "))
	}
	var b Break
	if o.Break != "" {
		var err error
		if b, err = find(o.Name, o.Break); err != nil {
			return demo{}, err
		}
	}
	switch o.Name {
	case "acme":
		return buildAcme(b)
	case "desk":
		return buildDesk(b, o.Caller)
	default:
		return buildProxy()
	}
}

func buildAcme(b Break) (demo, error) {
	a, err := newAcme()
	if err != nil {
		return demo{}, err
	}
	if b.apply != nil {
		b.apply(a)
	}
	s, err := a.serve()
	return demo{mcp: s}, err
}

func buildDesk(b Break, c Caller) (demo, error) {
	d, err := newDesk(c)
	if err != nil {
		return demo{}, err
	}
	if _, err := d.admit(c); err != nil {
		return demo{}, err
	}
	if b.onDesk != nil {
		b.onDesk(d)
	}
	s, err := d.serve()
	return demo{mcp: s, guard: d.guard}, err
}

func buildProxy() (demo, error) {
	p, err := newProxy()
	if err != nil {
		return demo{}, err
	}
	s, err := p.serve()
	return demo{mcp: s}, err
}

// find gives a regression of a demo server.
func find(demo, name string) (Break, error) {
	var names []string
	for _, b := range Breaks(demo) {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	if names == nil {
		return Break{}, fmt.Errorf("demo %s has no breaks", demo)
	}
	return Break{}, fmt.Errorf("unknown break %q; there are %s", name, strings.Join(names, ", "))
}
