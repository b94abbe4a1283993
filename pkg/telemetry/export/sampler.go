package export

import (
	"fmt"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// sampler reads OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. Without them all
// traces are kept, unless who dispatched says otherwise.
func (e environ) sampler() (sdktrace.Sampler, error) {
	name, kind := e.find("OTEL_TRACES_SAMPLER")
	if kind == "" {
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	}
	root, parent := strings.CutPrefix(kind, "parentbased_")
	var s sdktrace.Sampler
	switch root {
	case "always_on":
		s = sdktrace.AlwaysSample()
	case "always_off":
		s = sdktrace.NeverSample()
	case "traceidratio":
		share, err := e.share()
		if err != nil {
			return nil, err
		}
		s = sdktrace.TraceIDRatioBased(share)
	default:
		return nil, &VariableError{name, fmt.Sprintf("there is no sampler %q here", kind), "want always_on, always_off, traceidratio, or one of them behind parentbased_"}
	}
	if parent {
		s = sdktrace.ParentBased(s)
	}
	return s, nil
}

// share of the traces that are kept.
func (e environ) share() (float64, error) {
	name, value := e.find("OTEL_TRACES_SAMPLER_ARG")
	if value == "" {
		return 1, nil
	}
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, &VariableError{name, fmt.Sprintf("want the share of traces to keep, from 0 to 1, got %q", value), "0.1 keeps one in ten"}
	}
	return share, nil
}
