package export

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// resource says which process tells: what we know of it, unless
// OTEL_RESOURCE_ATTRIBUTES and then OTEL_SERVICE_NAME say otherwise.
func (o Options) resource(ctx context.Context) (*resource.Resource, error) {
	e := environ(o.Environ)
	name, value := e.find("OTEL_RESOURCE_ATTRIBUTES")
	said, err := pairs(name, value)
	if err != nil {
		return nil, err
	}
	all := map[string]string{"service.name": o.Service, "service.version": o.Version, "service.instance.id": rand.Text()}
	maps.Copy(all, said)
	if name, service := e.find("OTEL_SERVICE_NAME"); !utf8.ValidString(service) {
		return nil, &VariableError{name, "this is no text in UTF-8", ""}
	} else if service != "" {
		all["service.name"] = service
	}
	var attrs []attribute.KeyValue
	for _, key := range slices.Sorted(maps.Keys(all)) {
		attrs = append(attrs, attribute.String(key, all[key]))
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...))
}
