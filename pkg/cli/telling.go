package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// tells opens what a process tells of itself, as the standard variables and the
// settings say; nil if nobody asked for it. File gets the spans, unless it is empty.
// Scraped says that the process serves its metrics.
func (c *command) tells(ctx context.Context, service, file string, scraped bool) (*export.Telemetry, error) {
	o := export.Options{Environ: c.env.Environ, Service: service, Version: version(), Scraped: scraped, Logger: c.logger()}
	if file != "" {
		o.TraceFile = c.env.abs(file)
	}
	content, err := parsed[bool](c, "telemetry.content")
	if err != nil {
		return nil, err
	}
	slow, err := parsed[suite.Duration](c, "telemetry.slow")
	if err != nil {
		return nil, err
	}
	o.Content, o.Slow = content, time.Duration(slow)
	t, err := export.Open(ctx, o)
	if wrong, ok := errors.AsType[*export.VariableError](err); ok {
		return nil, usage(wrong.Hint, "%s", wrong)
	}
	return t, err
}

// told hands on what is left to tell when a command ends, however it does. A signal
// that comes meanwhile ends the wait; one that came before has ended the command.
func (c *command) told(ctx context.Context, t *export.Telemetry) {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := t.Close(ctx); err != nil {
		fmt.Fprintf(c.env.Stderr, "warning: %s\n", report.Line(err.Error(), 500))
	}
}

// tells opens what the process tells, before anything is begun that could not be told
// of.
func (f *carrying) tells(ctx context.Context, c *command) (err error) {
	if f.told == nil {
		f.told, err = c.tells(ctx, "evalfarm", f.traceFile, false)
	}
	return err
}

// telling lets a composition tell of itself.
func telling(conf *app.Config, t *export.Telemetry) {
	conf.Tracer, conf.Metrics, conf.MetricsHandler = t.Tracer(), t.Metrics(), t.Page()
}

// healthListener listens where the health of a process is to be served; nil for
// nowhere.
func healthListener(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the health on %s: %w", address, err)
	}
	return l, nil
}

// elsewhere refuses flags that are for a run here, of one that others carry out.
func (f *carrying) elsewhere() error {
	if f.traceFile == "" {
		return nil
	}
	return usage("give OTEL_EXPORTER_OTLP_ENDPOINT to the farm's scheduler and workers", "--trace-file is for a run that is carried out here, and the farm carries out this one")
}
