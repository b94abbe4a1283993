package agent_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

const object = `{"type":"object"}`

// listing is a server with tools by their names.
func listing(names ...string) *fakeServer {
	s := desk()
	var tools []string
	for _, name := range names {
		tools = append(tools, tool(name, "", object))
	}
	s.pages = []string{page(tools...)}
	return s
}

// offeredBy runs a trial and returns the request that the model got.
func offeredBy(tb testing.TB, trial agent.Task) (llm.Request, agent.Done) {
	tb.Helper()
	var h heard
	done := agent.Loop{Model: moving(&h, say("Done."))}.Run(tb.Context(), trial)
	return h.last(), done
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 65)
	tests := []struct {
		name    string
		servers map[string][]string // in the order of their names
		set     func(*agent.Task)
		want    []string
	}{
		{"one server", map[string][]string{"desk": {"get_order", "Get-Order2"}}, nil, []string{"get_order", "Get-Order2"}},
		{"two servers", map[string][]string{"a": {"get"}, "b": {"get", "put"}}, nil, []string{"mcp__a__get", "mcp__b__get", "mcp__b__put"}},
		{"one server with its name", map[string][]string{"desk": {"get"}}, func(t *agent.Task) { t.Namespaced = true }, []string{"mcp__desk__get"}},
		{"the order of the listing", map[string][]string{"desk": {"c", "a", "b"}}, nil, []string{"c", "a", "b"}},
		{"what is illegal", map[string][]string{"desk": {"get.order", "über/x", " "}}, nil, []string{"get_order", "_ber_x", "_"}},
		{"a legal name goes first", map[string][]string{"desk": {"get.order", "get_order"}}, nil, []string{"get_order_#", "get_order"}},
		{"two that become the same", map[string][]string{"desk": {"get.order", "get/order"}}, nil, []string{"get_order", "get_order_#"}},
		{"a long one", map[string][]string{"desk": {long, long[:64]}}, nil, []string{strings.Repeat("x", 55) + "_#", long[:64]}},
		{"long with its server", map[string][]string{"a": {long[:50]}, "b": {long[:60]}}, nil, []string{"mcp__a__" + long[:50], "mcp__b__" + long[:47] + "_#"}},
		{"two servers that become the same", map[string][]string{"a": {"b__c"}, "a__b": {"c"}}, nil, []string{"mcp__a__b__c", "mcp__a__b__c_#"}},
		{"the name of a tool of ours", map[string][]string{"desk": {"read_resource"}}, func(t *agent.Task) { t.Settings.Resources = true }, []string{"read_resource", "read_resource_#"}},
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	suffix := regexp.MustCompile(`_[0-9a-f]{8}$`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(desk())
			trial.Servers = nil
			for _, name := range []string{"a", "a__b", "b", "desk"} {
				if tools, ok := tt.servers[name]; ok {
					trial.Servers = append(trial.Servers, agent.Server{Name: name, Tools: listing(tools...)})
				}
			}
			if tt.set != nil {
				tt.set(&trial)
			}
			req, done := offeredBy(t, trial)
			var got []string
			for _, d := range req.Tools {
				if !legal.MatchString(d.Name) {
					t.Errorf("%q is not legal", d.Name)
				}
				got = append(got, suffix.ReplaceAllString(d.Name, "_#"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again, _ := offeredBy(t, trial)
			if diff := cmp.Diff(req.Tools, again.Tools); diff != "" {
				t.Errorf("another time, -first +then:\n%s", diff)
			}
			if len(done.Trajectory.Findings) > 0 {
				t.Errorf("findings %v", done.Trajectory.Findings)
			}
		})
	}
}

// TestNamesLeadBack calls tools by names that are not their own.
func TestNamesLeadBack(t *testing.T) {
	trial := task(listing("get.order", "get_order"))
	trial.Servers = append(trial.Servers, agent.Server{Name: "other.one", Tools: listing("get.order")})
	var h heard
	done := agent.Loop{Model: modelFunc(func(ctx context.Context, req llm.Request) (llm.Response, error) {
		var calls []string
		for _, d := range req.Tools {
			calls = append(calls, d.Name, "{}")
		}
		return moving(&h, use(calls...), say("Done.")).Generate(ctx, req)
	})}.Run(t.Context(), trial)
	want := []string{
		"user: Refund it.", "tools/call desk:get.order {} ok", "tools/call desk:get_order {} ok", "tools/call other.one:get.order {} ok", "agent: Done.",
	}
	if diff := cmp.Diff(want, transcript(done.Trajectory)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var uses []string
	for _, u := range done.Tools {
		uses = append(uses, u.Tool)
	}
	for i, offered := range done.Trajectory.Tools {
		if offered.Name != uses[i] || !strings.HasPrefix(offered.Name, "mcp__") || string(offered.Schema) != object {
			t.Errorf("offered %+v, use %q", offered, uses[i])
		}
	}
}

func TestReadListing(t *testing.T) {
	entry := func(name, schema string) string { return tool(name, "", schema) }
	tests := []struct {
		name  string
		pages []string
		// want is name and schema of what is offered.
		want     []string
		findings []string
	}{
		{"the schema is kept byte for byte", []string{page(entry("a", `{ "type": "object",  "x-1": 1e2 }`))}, []string{`a { "type": "object",  "x-1": 1e2 }`}, nil},
		{"several pages", []string{page(entry("a", object)), page(entry("b", object))}, []string{"a " + object, "b " + object}, nil},
		{"a missing type is put in", []string{page(entry("a", `{"properties":{}}`))}, []string{`a {"properties":{},"type":"object"}`}, nil},
		{"no schema at all", []string{page(`{"name":"a"}`)}, []string{"a " + object}, nil},
		{"a schema that is no object", []string{page(entry("a", "true"), entry("b", object))}, []string{"b " + object}, []string{`tool_left_out 1: server desk: tool "a": its inputSchema is no object`}},
		{"a null schema", []string{page(entry("a", "null"))}, nil, []string{`tool_left_out 1: server desk: tool "a": its inputSchema is no object`, "no_tools 1: server desk lists no tool that a model could call"}},
		{"a schema of several types", []string{page(entry("a", `{"type":["object","null"]}`), entry("b", object))}, []string{"b " + object}, []string{`tool_left_out 1: server desk: tool "a": the type of its inputSchema is ["object","null"], and not object`}},
		{"a tool without a name", []string{page(`{"Name":"a"}`, `{"name":5}`, `{"name":null}`, `{"name":""}`, entry("b", object))}, []string{"b " + object}, []string{`tool_left_out 4: server desk: tool "": it has no name`}},
		{"a tool that is no object", []string{page(`5`, entry("b", object))}, []string{"b " + object}, []string{`tool_left_out 1: server desk: tool "": it is no object`}},
		{"a name that comes twice", []string{page(entry("a", object)), page(entry("a", `{"type":"object","x":1}`))}, []string{"a " + object}, []string{`tool_left_out 1: server desk: tool "a": another tool has its name`}},
		{"a description that is no text", []string{page(`{"name":"a","description":5,"inputSchema":{"type":"object"}}`)}, []string{"a " + object}, nil},
		{"a page that is none", []string{`{"tools":5}`, page(entry("b", object))}, []string{"b " + object}, []string{"bad_listing 1: server desk: a page of tools cannot be read: json: cannot unmarshal number into Go struct field .tools of type []json.RawMessage"}},
		{"no tools", []string{`{"tools":[]}`}, nil, []string{"no_tools 1: server desk lists no tool that a model could call"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := desk()
			server.pages = tt.pages
			req, done := offeredBy(t, task(server))
			var got, findings []string
			for _, d := range req.Tools {
				got = append(got, d.Name+" "+string(d.Schema))
			}
			for _, f := range done.Trajectory.Findings {
				findings = append(findings, fmt.Sprintf("%s %d: %s", f.Code, f.Count, f.Detail))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if strings.HasPrefix(tt.name, "a page that is none") {
				return // the words are the decoder's
			}
			if diff := cmp.Diff(tt.findings, findings); diff != "" {
				t.Errorf("findings, -want +got:\n%s", diff)
			}
		})
	}
}

func TestDescriptions(t *testing.T) {
	server := func() *fakeServer {
		s := desk()
		s.pages = []string{page(tool("get", "Its own.", object), tool("put", "Its own.", object))}
		return s
	}
	tests := []struct {
		name string
		set  map[string]string
		want []string // of desk's get and put, other's get and put
		// unused says that one of them is nobody's.
		unused bool
	}{
		{"none", nil, []string{"Its own.", "Its own.", "Its own.", "Its own."}, false},
		{"by the bare name", map[string]string{"get": "New."}, []string{"New.", "Its own.", "New.", "Its own."}, false},
		{"by the full name", map[string]string{"mcp__other__get": "New."}, []string{"Its own.", "Its own.", "New.", "Its own."}, false},
		{"the full name goes first", map[string]string{"mcp__other__get": "Newer.", "get": "New."}, []string{"New.", "Its own.", "Newer.", "Its own."}, false},
		{"to nothing", map[string]string{"get": ""}, []string{"", "Its own.", "", "Its own."}, false},
		{"of nobody", map[string]string{"gte": "New."}, []string{"Its own.", "Its own.", "Its own.", "Its own."}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(server())
			trial.Servers = append(trial.Servers, agent.Server{Name: "other", Tools: server()})
			trial.Settings.Descriptions = tt.set
			req, done := offeredBy(t, trial)
			var got []string
			for _, d := range req.Tools {
				got = append(got, d.Description)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if found := len(codes(done.Trajectory)) > 0; found != tt.unused {
				t.Errorf("findings %v", codes(done.Trajectory))
			}
		})
	}
}

// TestSchemasThatCannotBeApplied lets calls through to the server, which has the
// last word anyway.
func TestSchemasThatCannotBeApplied(t *testing.T) {
	tests := []struct {
		name   string
		schema string
	}{
		{"invalid", `{"type":"object","properties":{"a":{"type":"strin"}}}`},
		{"another document", `{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}`},
		{"too large", `{"type":"object","description":"` + strings.Repeat("x", 70<<10) + `"}`},
		{"too deep", `{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 60) + "{}" + strings.Repeat("}}", 60) + `}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := desk()
			server.pages = []string{page(tool("a", "", tt.schema))}
			done := agent.Loop{Model: moving(&heard{}, use("a", `{"a":5}`), use("a", `{"a":6}`), say("Done."))}.Run(t.Context(), task(server))
			if done.Counts.ToolCalls != 2 || done.Counts.InvalidCalls != 0 {
				t.Errorf("counts %+v", done.Counts)
			}
			if diff := cmp.Diff([]string{"schema_not_checked 1"}, codes(done.Trajectory)); diff != "" {
				t.Errorf("findings, -want +got:\n%s", diff)
			}
		})
	}
}

func TestToolTokens(t *testing.T) {
	server := desk()
	server.pages = []string{page(tool("get", "Gets.", object))}
	_, done := offeredBy(t, task(server))
	const definition = `{"description":"Gets.","inputSchema":{"type":"object"},"name":"get"}`
	if want := (len(definition) + 3) / 4; done.Counts.InitialToolTokens != want || done.Counts.LoadedToolTokens != 0 {
		t.Errorf("%d and %d tokens, want %d and none", done.Counts.InitialToolTokens, done.Counts.LoadedToolTokens, want)
	}
}

func TestResources(t *testing.T) {
	link := func(context.Context, string, eval.JSON) eval.Outcome {
		return result(`{"content":[{"type":"resource_link","uri":"x://1","name":"r"}]}`)
	}
	t.Run("one server", func(t *testing.T) {
		server := desk()
		server.call = link
		trial := task(server)
		trial.Settings.Resources = true
		var h heard
		done := agent.Loop{Model: moving(&h, use("escalate", "{}"), use("read_resource", `{"uri":"x://1"}`), use("read_resource", `{}`), say("Done."))}.Run(t.Context(), trial)
		want := []string{
			"user: Refund it.", "tools/call desk:escalate {} ok", `resources/read desk:x://1 {"uri":"x://1"} ok`, `resources/read :read_resource {} INVALID`, "agent: Done.",
		}
		if diff := cmp.Diff(want, transcript(done.Trajectory)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if told := h.told()[1]; told != "read_resource: the report" {
			t.Errorf("told %q", told)
		}
		got := done.Counts
		if got.ResourceReads != 1 || got.ToolCalls != 1 || got.InvalidCalls != 1 || len(done.Tools) != 1 {
			t.Errorf("counts %+v, uses %v", got, done.Tools)
		}
		if len(done.Trajectory.Tools) != 4 {
			t.Errorf("offered %v, want those of the server", done.Trajectory.Tools)
		}
	})
	t.Run("several servers", func(t *testing.T) {
		trial := task(desk())
		other := desk()
		other.read = func(context.Context, string) eval.Outcome { return rpcError(-32002, "not here") }
		trial.Servers = append(trial.Servers, agent.Server{Name: "other", Tools: other})
		trial.Settings.Resources = true
		var h heard
		done := agent.Loop{Model: moving(&h, use("read_resource", `{"uri":"x://1","server":"other"}`, "read_resource", `{"uri":"x://1","server":"desk"}`, "read_resource", `{"uri":"x://1","server":"none"}`), say("Done."))}.Run(t.Context(), trial)
		want := []string{
			"user: Refund it.", `resources/read other:x://1 {"server":"other","uri":"x://1"} protocol_error`, `resources/read desk:x://1 {"server":"desk","uri":"x://1"} ok`,
			`resources/read :read_resource {"server":"none","uri":"x://1"} INVALID`, "agent: Done.",
		}
		if diff := cmp.Diff(want, transcript(done.Trajectory)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("not without being asked for", func(t *testing.T) {
		req, _ := offeredBy(t, task(desk()))
		for _, d := range req.Tools {
			if d.Name == "read_resource" {
				t.Error("offered")
			}
		}
	})
	t.Run("no server at all", func(t *testing.T) {
		trial := task(desk())
		trial.Servers, trial.Settings.Resources = nil, true
		req, done := offeredBy(t, trial)
		if len(req.Tools) != 0 || done.Stop != eval.StopDone {
			t.Errorf("tools %v, stop %s", req.Tools, done.Stop)
		}
	})
}
