// Package broker opens the Redis that the queue runs on: one inside this
// process, one spawned beside it, or one that somebody else runs.
//
// Whatever is in it may be lost at any moment (see package jobs), so the
// embedded one, which keeps nothing, is a full citizen and the default.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// A Kind says where the Redis lives.
type Kind string

const (
	// Embedded is a Redis written in Go, inside this process, reached over
	// memory: no port, no file, gone with the process.
	Embedded Kind = "embedded"
	// Spawn is a valkey-server or redis-server from PATH, started for us on a
	// private unix socket. It ends with us.
	Spawn Kind = "spawn"
	// URL is a Redis that somebody else runs.
	URL Kind = "url"
)

// Options says which Redis to open.
type Options struct {
	// Kind defaults to URL if URL is set, else to Embedded.
	Kind Kind
	// URL of kind URL: redis://[user:password@]host:port[/db], rediss:// for TLS,
	// unix://[user:password@]/path. With ?master_name=NAME the address is that of
	// a Sentinel; with ?addr=HOST:PORT, once for each further node, it is a
	// cluster.
	URL string
	// Dir is where a spawned server keeps its data, so that a restart of the
	// server loses at most a second. It is created with mode 0700. The default is
	// a temporary folder that Close removes.
	Dir string
	// Tries is how often to try to reach the server before giving up; 5 by default.
	Tries int
	// Logger defaults to one that discards. The logger of go-redis is global to
	// the process: the broker opened last has it.
	Logger *slog.Logger
}

// A Broker is an open Redis. It is safe for concurrent use.
type Broker struct {
	client   redis.UniversalClient
	describe string
	run      func(context.Context) error
	close    func() error
}

// Open connects to a Redis, starting it first if it is ours. When it returns
// the server has answered, is new enough, and does not evict keys.
func Open(ctx context.Context, o Options) (*Broker, error) {
	if o.Kind == "" {
		o.Kind = Embedded
		if o.URL != "" {
			o.Kind = URL
		}
	}
	if o.Tries <= 0 {
		o.Tries = 5
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	// Else go-redis writes to the standard error, across our progress.
	redis.SetLogger(logBridge{o.Logger})
	switch o.Kind {
	case Embedded:
		return openEmbedded(ctx)
	case Spawn:
		return openSpawned(ctx, o)
	case URL:
		return openURL(ctx, o)
	}
	return nil, fmt.Errorf("unknown kind of broker %q: want %s, %s or %s", o.Kind, Embedded, Spawn, URL)
}

// Client is the connection pool to the server. The broker owns it; do not close
// it.
func (b *Broker) Client() redis.UniversalClient { return b.client }

// Describe says in a few words what was opened, without any password.
func (b *Broker) Describe() string { return b.describe }

// Run does what the server needs done while it is used: keys of the embedded
// one grow old, a spawned one is started again when it dies. It returns nil when
// ctx ends.
func (b *Broker) Run(ctx context.Context) error { return b.run(ctx) }

// Close closes the client and ends a server that is ours.
func (b *Broker) Close() error {
	return errors.Join(b.client.Close(), b.close())
}

// wait is the Run of a server that needs nothing.
func wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// logBridge hands what go-redis has to say to our logger. It speaks of every
// failed dial, which is news only to somebody who debugs.
type logBridge struct{ log *slog.Logger }

// Printf implements the logger of go-redis.
func (b logBridge) Printf(ctx context.Context, format string, args ...any) {
	b.log.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}
