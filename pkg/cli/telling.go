package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// tells opens what a process tells of itself, as the standard variables and the
// settings say; nil if nobody asked for it. File gets the spans, unless it is empty.
func (c *command) tells(ctx context.Context, service, file string) (*export.Telemetry, error) {
	o := export.Options{Environ: c.env.Environ, Service: service, Version: version(), Logger: c.logger()}
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

// told hands on what is left to tell when a command ends, however it does. A second
// signal ends the process all the same.
func (c *command) told(ctx context.Context, t *export.Telemetry) {
	if err := t.Close(context.WithoutCancel(ctx)); err != nil {
		fmt.Fprintf(c.env.Stderr, "warning: %s\n", report.Line(err.Error(), 500))
	}
}

// tells opens what the process tells, before anything is begun that could not be told
// of.
func (f *carrying) tells(ctx context.Context, c *command) (err error) {
	if f.told == nil {
		f.told, err = c.tells(ctx, "evalfarm", f.traceFile)
	}
	return err
}

// elsewhere refuses flags that are for a run here, of one that others carry out.
func (f *carrying) elsewhere() error {
	if f.traceFile == "" {
		return nil
	}
	return usage("give OTEL_EXPORTER_OTLP_ENDPOINT to the farm's scheduler and workers", "--trace-file is for a run that is carried out here, and the farm carries out this one")
}
