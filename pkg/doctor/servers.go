package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/redact"
)

// servers looks at each registered server: its secrets and its program, and then
// by a session of its own.
func (o Options) servers(ctx context.Context) []Finding {
	names := slices.Sorted(maps.Keys(o.Servers))
	out := make([]Finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { out[i] = o.server(ctx, name, o.Servers[name]) })
	}
	all.Wait()
	return out
}

func (o Options) server(ctx context.Context, name string, s eval.Server) Finding {
	check := "server " + name
	server, found, err := o.resolved(s)
	if err != nil {
		return problem(check, err.Error(), "workers that start it need the secret")
	}
	what := server.URL
	switch {
	case server.Container.Image != "":
		what = "image " + server.Container.Image // whose engine is asked when it is started
	case len(server.Command) > 0:
		what = server.Command[0]
		if what != selfName {
			if what, err = o.LookPath(server.Command[0]); err != nil {
				return problem(check, fmt.Sprintf("there is no program %q: %s", server.Command[0], err), install(server.Command[0]))
			}
		}
	}
	hide := redact.New(found)
	if o.Opener == nil {
		return ok(check, hide.String(what)+", not started")
	}
	session, err := o.Opener.Open(ctx, client.Spec{Name: name, Server: server, Dir: existing(o.Home), Redact: hide})
	if err != nil {
		return problem(check, hide.String(reason(err)), "start it by hand as its command or url says, and see")
	}
	defer session.Close()
	at := session.Attach()
	defer at.Detach()
	pages, outcome := at.ListTools(ctx)
	if outcome.Kind != eval.OutcomeOK {
		return problem(check, hide.String(fmt.Sprintf("it starts, and does not list its tools: %s %s", outcome.Reason, outcome.Detail)), "see what it says on stderr")
	}
	tools := count(pages)
	start := time.Duration(at.StartMS() * float64(time.Millisecond)).Round(time.Millisecond)
	if tools == 0 {
		return warning(check, "it starts, and has no tool", "")
	}
	return ok(check, fmt.Sprintf("started in %s, tools: %d", start, tools))
}

// selfName as the first word of a command means this very executable.
const selfName = "evalfarm"

// install says what has a program.
func install(program string) string {
	switch filepath.Base(program) {
	case "node", "npx", "npm":
		return "install Node.js on every worker"
	case "uv", "uvx":
		return "install uv on every worker"
	case "python", "python3", "pip", "pipx":
		return "install Python on every worker"
	}
	return "install it on every worker, or give its absolute path"
}

// reason is why a session did not come about.
func reason(err error) string {
	if start, failed := errors.AsType[*client.StartError](err); failed {
		return fmt.Sprintf("%s: %s", start.Reason, start.Detail)
	}
	return err.Error()
}

// count counts the tools of a listing.
func count(pages []eval.JSON) int {
	n := 0
	for _, page := range pages {
		var p struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(page, &p) == nil {
			n += len(p.Tools)
		}
	}
	return n
}
