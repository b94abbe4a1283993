package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// Options of [Serve].
type Options struct {
	// Name of the demo server, one of [Names].
	Name string
	// Break is the name of a regression from [Breaks]; empty means none.
	Break string
	// Caller uses the desk. Over HTTP the headers of a request go before it.
	Caller Caller
	// HTTP is the address to serve Streamable HTTP on, at path /mcp. An address
	// without a host, such as ":8080", means the loopback interface; port 0
	// means any free one. Empty means stdio.
	HTTP string
	// Heard is told of every request for a tool or a resource: its method, and what its
	// _meta holds beside the progress token. It is for tests of who asks; nil hears
	// nothing.
	Heard func(method string, meta map[string]any)
	// In and Out carry the messages of stdio. Err gets the address of HTTP and
	// the log.
	In       io.Reader
	Out, Err io.Writer
}

// Serve serves a demo server until ctx ends or, on stdio, until In does. Both
// are no error.
func Serve(ctx context.Context, o Options) error {
	d, err := build(o)
	if err != nil {
		return err
	}
	if o.Heard != nil {
		overhear(d.mcp, o.Heard)
	}
	if o.HTTP != "" {
		err = serveHTTP(ctx, d, o)
	} else {
		err = serveStdio(ctx, d.mcp, o)
	}
	if err != nil {
		return fmt.Errorf("serve %s: %w", o.Name, err)
	}
	return nil
}

func serveStdio(ctx context.Context, s *server.MCPServer, o Options) error {
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(slog.NewLogLogger(logTo(o.Err), slog.LevelError))
	// More calls at once than a farm makes, so that a slow one holds up nobody.
	server.WithWorkerPoolSize(32)(stdio)
	if err := stdio.Listen(ctx, o.In, o.Out); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func serveHTTP(ctx context.Context, d demo, o Options) error {
	const (
		idle  = 10 * time.Minute // a session whose client went away without a word
		grace = 2 * time.Second  // for calls in flight at the end
	)
	addr := o.HTTP
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(logTo(o.Err), slog.LevelError)}
	mcp := server.NewStreamableHTTPServer(d.mcp,
		server.WithStreamableHTTPServer(web),
		server.WithSessionIdleTTL(idle),
		server.WithStreamableHTTPLogger(slog.New(logTo(o.Err))),
	)
	mux.Handle("/mcp", d.guarded(mcp))
	if _, err := fmt.Fprintf(o.Err, "%s: serving http://%s/mcp\n", o.Name, l.Addr()); err != nil {
		return errors.Join(fmt.Errorf("announce the address: %w", err), l.Close())
	}

	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return errors.Join(err, mcp.Shutdown(ctx))
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := mcp.Shutdown(end); err != nil {
		_ = web.Close() // cuts what would not end by itself
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// logTo is where what goes wrong is logged.
func logTo(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})
}
