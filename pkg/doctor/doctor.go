// Package doctor looks at what a farm needs before it is started: its Redis, its
// store, its clock, its servers, its keys. It changes nothing and says what to do.
package doctor

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// A Level says how bad a finding is.
type Level string

const (
	// OK is as it should be.
	OK Level = "ok"
	// Warning works, and may not be what was meant or not last.
	Warning Level = "warning"
	// Problem keeps the farm from working.
	Problem Level = "problem"
)

// A Finding is what was seen of one thing. Its texts may hold what a server said,
// so they are hostile; secrets are taken out of them.
type Finding struct {
	// Check is what was looked at: redis, clock, store, disk, state, spool, files, token,
	// listen, blobs, spawn, traces, server NAME or keys NAME.
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	// Advice says what to do; empty when there is nothing to do.
	Advice string `json:"advice,omitempty"`
}

// Options say what to look at. What is empty is not looked at, unless its comment
// says otherwise.
type Options struct {
	// Part of a farm that is to run here; what it needs and has not is a problem.
	// Empty means that it is not said.
	Part string
	// Skip leaves out checks, by their names.
	Skip []string
	// Redis is its URL, with secrets filled in. Empty is told.
	Redis string
	// Store is the path of its file.
	Store string
	// Home is the state folder.
	Home string
	// Spool is a worker's folder for what is not stored yet.
	Spool string
	// Listen is where the scheduler would serve.
	Listen string
	// Blobs is the scheduler's address as workers see it.
	Blobs string
	// Token of the farm, as this process would show it.
	Token Token
	// Slots is how many trials run at once, for the number of open files.
	Slots int
	// Spawn looks for a redis-server to start.
	Spawn bool
	// Environ has the standard variables that say where traces go.
	Environ []string
	// Version of this evalfarm.
	Version string

	// Servers are those that are registered.
	Servers map[string]eval.Server
	// Opener starts them. Nil looks only for their programs and secrets.
	Opener *client.Opener
	// Providers whose keys are looked for.
	Providers []Provider
	// Online asks each provider for its list of models, with each key.
	Online bool
	// Secret finds a secret by its name.
	Secret func(name string) (string, error)

	// LookPath finds a program.
	LookPath func(name string) (string, error)
	// HTTP asks schedulers and providers.
	HTTP *http.Client
	// Now is the clock of this machine; nil means time.Now.
	Now func() time.Time
	// Free is the bytes that are free where a folder is; nil asks the system.
	Free func(folder string) (uint64, error)
	// Files is the most files that this process may open; nil asks the system.
	Files func() (uint64, error)
}

// The parts of a farm.
const (
	PartScheduler = "scheduler"
	PartWorker    = "worker"
)

// Examine looks at everything, in the order in which it is worth mending.
func Examine(ctx context.Context, o Options) []Finding {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Free == nil {
		o.Free = free
	}
	if o.Files == nil {
		o.Files = files
	}
	var all []Finding
	all = append(all, o.redis(ctx)...)
	all = append(all, o.store(ctx)...)
	all = append(all, o.state()...)
	all = append(all, o.spool()...)
	all = append(all, o.disk()...)
	all = append(all, o.files()...)
	all = append(all, o.token()...)
	all = append(all, o.listen(ctx)...)
	all = append(all, o.blobs(ctx)...)
	all = append(all, o.spawn()...)
	all = append(all, o.traces(ctx)...)
	all = append(all, o.servers(ctx)...)
	all = append(all, o.keys(ctx)...)
	return slices.DeleteFunc(all, func(f Finding) bool { return slices.Contains(o.Skip, f.Check) })
}

func ok(check, message string) Finding { return Finding{Check: check, Level: OK, Message: message} }

func warning(check, message, advice string) Finding {
	return Finding{Check: check, Level: Warning, Message: message, Advice: advice}
}

func problem(check, message, advice string) Finding {
	return Finding{Check: check, Level: Problem, Message: message, Advice: advice}
}
