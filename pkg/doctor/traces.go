package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// traces looks at whether the collector of the environment answers. The farm works
// without it.
func (o Options) traces(ctx context.Context) []Finding {
	at, err := export.Ask(ctx, o.Environ)
	if wrong, ok := errors.AsType[*export.VariableError](err); ok {
		return []Finding{problem("traces", wrong.Error(), wrong.Hint)}
	}
	switch {
	case err != nil:
		return []Finding{warning("traces", fmt.Sprintf("%s does not take traces: %s", at, err), "start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_PROTOCOL")}
	case at != "":
		return []Finding{ok("traces", at+" takes them")}
	}
	return nil
}
