// Package app composes the parts of evalfarm into what runs: the whole farm in
// one process, a scheduler, or a worker.
//
// It is the only package that knows which parts there are. The mode picks the
// parts; no part asks which mode it is in.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/pgstore"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// Config is what the outside world gives to a composition.
type Config struct {
	// Home is the folder of the state: the store, locks, the farm's token.
	Home string
	// Store is the postgres:// URL of the store, or the path of its file. Empty means
	// evalfarm.db in Home.
	Store string
	// Blobs is the address of a folder or bucket where workers put large blobs;
	// empty for the one that the state folder remembers, if any.
	Blobs string
	// Broker says which Redis to use.
	Broker broker.Options
	// Slots is how many trials run at once. Zero means four for each processor.
	Slots int
	// JudgeSlots is how many trials are judged at once. Zero means as many as Slots.
	JudgeSlots int
	// Capabilities of this process beside what any has. OnlyCapable keeps its worker
	// from trials that require nothing.
	Capabilities []string
	OnlyCapable  bool
	// Lease of a claim; zero means 45 s.
	Lease time.Duration
	// Audit is the time between two audits; zero means 5 s.
	Audit time.Duration
	// Tenants of the farm, by name.
	Tenants map[string]scheduler.Tenant
	// Grace is how long running trials may go on after a stop was asked for.
	Grace time.Duration
	// Environ is the environment of this process, of which servers get the
	// harmless part, and from which secrets are read.
	Environ []string
	// Self is the path of the running executable.
	Self string
	// Guard is the argument vector that makes this executable a guard of a
	// server's process group.
	Guard []string
	// ContainerEngine is the path or the name of the command that runs servers
	// with an image. Empty means docker, else podman, on the PATH of Environ.
	ContainerEngine string
	// Targets that are told of runs that are done.
	Targets []eval.Target
	// Traces is where people see the traces of trials, for the targets.
	Traces eval.TraceURL
	// Version of this evalfarm.
	Version string
	// Tracer tells of what is carried out. Nil traces nothing.
	Tracer *telemetry.Tracer
	// Metrics measure what is carried out. Nil measures nothing.
	Metrics *telemetry.Metrics
	// MetricsHandler shows the metrics to who scrapes, where the health of the process
	// is served. Nil shows none.
	MetricsHandler http.Handler
	// Logger for what nobody else is told. Nil discards.
	Logger *slog.Logger
}

// StorePath is the path of the file of the store, if it is one.
func (c Config) StorePath() string {
	return cmp.Or(c.Store, filepath.Join(c.Home, "evalfarm.db"))
}

// OpenStore opens the store: the one of Store, or that of the home folder, making
// both if need be.
func (c Config) OpenStore(ctx context.Context) (store.Store, error) {
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	address, err := c.blobsAddress()
	if err != nil {
		return nil, err
	}
	s, err := c.openDatabase(ctx)
	if err != nil || address == "" {
		return s, err
	}
	return c.layer(s, address), nil
}

func (c Config) openDatabase(ctx context.Context) (store.Store, error) {
	if strings.Contains(c.Store, "://") {
		return pgstore.Open(ctx, c.Store)
	}
	return sqlitestore.Open(ctx, c.StorePath())
}

// Observer is told what happens, for progress. Its functions may be nil; they
// are called from several goroutines and must not block.
type Observer struct {
	// Began and Ended of an attempt on a worker of this process.
	Began func(uid string, t eval.Trial)
	Ended func(uid string)
	// Stored is called for every record that the store has taken.
	Stored func(store.Stored)
}

func (c Config) logger() *slog.Logger {
	return cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
}

func (c Config) slots() int {
	if c.Slots > 0 {
		return c.Slots
	}
	return 4 * runtime.NumCPU()
}

func (c Config) judgeSlots() int {
	if c.JudgeSlots > 0 {
		return c.JudgeSlots
	}
	return c.slots()
}

// workerID names a worker: the host, the process, and chance, since a container
// may have the process number of the one before.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:4])
}

// Secret finds the value of a secret: the environment variable of its name, or
// the content of the file that NAME_FILE names. An empty one is none: that is how
// build servers hand over secrets that they do not have. The error says what to
// do.
func (c Config) Secret(name string) (string, error) {
	if v, ok := lookup(c.Environ, name); ok && v != "" {
		return v, nil
	}
	path, ok := lookup(c.Environ, name+"_FILE")
	if !ok {
		return "", fmt.Errorf("this process has no secret %q; set the environment variable %s, or %s_FILE to the path of a file that holds it", name, name, name)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the secret %q cannot be read from %s_FILE: %w", name, name, err)
	}
	value := strings.TrimRight(string(content), "\r\n")
	if value == "" {
		return "", fmt.Errorf("the file of %s_FILE, which should hold the secret %q, is empty", name, name)
	}
	return value, nil
}

func lookup(environ []string, name string) (string, bool) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// sessions makes the pool of server sessions of a worker, after it has killed
// what servers of the farm's dead workers have left on this machine.
func (c Config) sessions(farm, worker string) *client.Pool {
	if n, err := wire.Sweep(farm + "/"); err != nil || n > 0 {
		c.logger().Warn("sweep servers of dead workers", "killed", n, "error", err)
	}
	return client.NewPool(client.NewOpener(client.Options{
		Environ: c.Environ, Self: c.Self, GuardCommand: c.Guard, Owner: farm + "/" + worker, Logger: c.logger(),
		Orphans: farm + "/", ContainerEngine: c.ContainerEngine, Metrics: c.Metrics,
	}), 0)
}

// settled turns the end of a service into an error only if it was not asked to
// end.
func settled(ctx context.Context, err error) error {
	if err == nil || (ctx.Err() != nil && errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}
