package telemetry

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

type callKey struct{}

// Asks notes the id that a model gave to the call which is about to be made.
func Asks(ctx context.Context, id string) context.Context {
	if id == "" || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	return context.WithValue(ctx, callKey{}, id)
}

// tool is what the conventions ask of a call of a tool.
func tool(ctx context.Context, name string) (string, []attribute.KeyValue) {
	show := shows(ctx)
	name = show.name(name)
	attrs := []attribute.KeyValue{Operation.String("execute_tool"), ToolName.String(name), ToolType.String("function")}
	if id, ok := ctx.Value(callKey{}).(string); ok {
		attrs = append(attrs, ToolCallID.String(show.name(id)))
	}
	return "execute_tool " + name, attrs
}

// ToolCall begins the span of a request to call a tool: `execute_tool {tool}`. It is the
// tool's and the request's in one, as the conventions want it.
func ToolCall(ctx context.Context, name string) (context.Context, Span) {
	return below(ctx, trace.SpanKindClient, func() (string, []attribute.KeyValue) {
		span, attrs := tool(ctx, name)
		return span, append(attrs, MCPMethod.String("tools/call"))
	})
}

// ResourceRead begins the span of a request to read a resource: `resources/read`. Of
// its URI, of which there may be any number, the name says nothing, and the attribute
// nothing that may hold a key: no user, query and fragment.
func ResourceRead(ctx context.Context, uri string) (context.Context, Span) {
	return below(ctx, trace.SpanKindClient, func() (string, []attribute.KeyValue) {
		const method = "resources/read"
		show := shows(ctx)
		uri := show.name(bare(show.clean(uri)))
		return method, []attribute.KeyValue{MCPMethod.String(method), MCPResource.String(uri)}
	})
}

// bare is a URI without user, query and fragment, whatever else is wrong with it.
func bare(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return uri
	}
	authority, path, slash := strings.Cut(rest, "/")
	if slash {
		path = "/" + path
	}
	return scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:] + path
}

// ToolList begins the span of a request for a page of tools: `tools/list`.
func ToolList(ctx context.Context) (context.Context, Span) {
	return below(ctx, trace.SpanKindClient, func() (string, []attribute.KeyValue) {
		const method = "tools/list"
		return method, []attribute.KeyValue{MCPMethod.String(method)}
	})
}

// Uncalled begins the span of a call that no server sees: `execute_tool {tool}`.
func Uncalled(ctx context.Context, name string) Span {
	_, span := below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) { return tool(ctx, name) })
	return span
}

// With shows the arguments of a call, which are content.
func (s Span) With(arguments []byte) {
	if s.Content() && len(arguments) > 0 {
		s.set(ToolArguments.String(s.said(string(arguments), mostSaid)))
	}
}

// Gave shows the result of a call, which is content.
func (s Span) Gave(result []byte) {
	if s.Content() && len(result) > 0 {
		s.set(ToolResult.String(s.said(string(result), mostSaid)))
	}
}

// NotMade says why no server saw a call, in a word and as the model is told.
func (s Span) NotMade(why, told string) { s.complain(why, told) }

// Sent notes the id under which the request of the span that the context carries
// leaves.
func Sent(ctx context.Context, id string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(JSONRPCID.String(id))
	}
}

// Brought tells what came of a request: a rejection by the tool is the error
// tool_error, one by the protocol its code, and no answer our reason.
func (s Span) Brought(o eval.Outcome) {
	if s.span == nil {
		return
	}
	switch o.Kind {
	case eval.OutcomeOK:
	case eval.OutcomeToolError:
		s.complain("tool_error", "")
	case eval.OutcomeProtocolError:
		code := strconv.Itoa(o.Error.Code)
		s.set(RPCErrorCode.String(code))
		s.complain(code, o.Error.Message)
	case eval.OutcomeFailed:
		s.complain(string(o.Reason), o.Detail)
	case eval.OutcomeCancelled:
		s.complain("cancelled", o.Detail)
	}
}
