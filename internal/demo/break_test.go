package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// symptoms holds for each break one call whose answer shows it: what the broken
// server says and, with the same question, the whole one.
func symptoms() map[string]struct {
	ask           func(session) string
	whole, broken string
} {
	field := func(tool, key, id, name string) func(session) string {
		return func(s session) string { return asJSON(s.object(tool, map[string]any{key: id})[name]) }
	}
	count := func(tool, key, id string) func(session) string {
		return func(s session) string { return asJSON(len(s.lines(tool, map[string]any{key: id}))) }
	}
	rejected := func(tool, key, id string) func(session) string {
		return func(s session) string { return asJSON(s.rejection(tool, map[string]any{key: id})) }
	}
	listed := func(tool string, path ...string) func(session) string {
		return func(s session) string { return s.listed(tool, path...) }
	}
	type symptom = struct {
		ask           func(session) string
		whole, broken string
	}
	return map[string]symptom{
		"renamed-tier":            {field("getCustomerStatus", "customerId", "CUST-4091", "tier"), `"ENTERPRISE_TIER"`, `"ENTERPRISE"`},
		"renamed-extracted-field": {field("getCustomerStatus", "customerId", "CUST-4091", "region"), `null`, `"US-EAST-1"`},
		"rounded-number":          {field("getCustomerStatus", "customerId", "CUST-4091", "accountNumber"), `9007199254740993`, `9007199254740992`},
		"wrong-order-status":      {field("getOrderStatus", "orderId", "ORD-20240815", "status"), `"SHIPPED"`, `"PENDING"`},
		"dropped-field":           {field("getOrderStatus", "orderId", "ORD-20240815", "totalAmount"), `"$48,750.00"`, `null`},
		"dead-report":             {readsReport, `"read"`, `"resource not found"`},
		"number-as-string":        {field("getSLACompliance", "serviceId", "auth-service", "violationCount"), `3`, `"3"`},
		"changed-count":           {count("getZoneHealthLogs", "zoneId", "US-EAST-1"), `6`, `5`},
		"lost-audit-event":        {count("getAuditTrail", "customerId", "CUST-4091"), `5`, `4`},
		"relaxed-pattern": {
			rejected("getCustomerStatus", "customerId", "INVALID"),
			asJSON(`getCustomerStatus.customerId: must match "^CUST-[0-9]{4,8}$"`), `""`,
		},
		"relaxed-size": {
			rejected("getZoneHealthLogs", "zoneId", strings.Repeat("A", 25)),
			`"getZoneHealthLogs.zoneId: size must be between 1 and 20"`, `""`,
		},
		"rejection-as-text": {
			rejected("getSLACompliance", "serviceId", strings.Repeat("A", 70)),
			`"getSLACompliance.serviceId: size must be between 1 and 40"`, `""`,
		},
		"missing-tool":         {listed("getSLACompliance", "name"), `"getSLACompliance"`, `none`},
		"renamed-tool":         {listed("get audit trail", "name"), `none`, `"get audit trail"`},
		"root-allof":           {listed("getAuditTrail", "inputSchema", "allOf"), `null`, `[{"required":["customerId"]}]`},
		"undescribed-property": {listed("getZoneHealthLogs", "inputSchema", "properties", "zoneId", "description"), `"Zone id, such as US-EAST-1."`, `null`},
		"missing-description": {
			listed("getOrderStatus", "description"),
			`"Looks up one order by id: where it stands, how many items it has and what it costs, with the URI of its report. An id that nobody has is answered with status NOT_FOUND."`,
			`null`,
		},
		"broken-output-schema": {listed("getOrderStatus", "outputSchema", "type"), `"object"`, `"record"`},
		"bloated-listing": {
			func(s session) string { return asJSON(len(s.listed("getAuditTrail", "description")) > 6000) },
			`false`, `true`,
		},
		"slow-tool": {hangs, `"answered"`, `"context deadline exceeded"`},
	}
}

func TestEveryBreakHasItsSymptom(t *testing.T) {
	all := symptoms()
	for _, b := range Breaks("acme") {
		t.Run(b.Name, func(t *testing.T) {
			if b.Name == "crash-on-hostile-input" {
				t.Skip("kills its process: TestCrashOnHostileInput")
			}
			symptom, ok := all[b.Name]
			if !ok {
				t.Fatal("no symptom in this test")
			}
			if got := symptom.ask(inProcess(t, "")); got != symptom.whole {
				t.Errorf("the whole server: got %s, want %s", got, symptom.whole)
			}
			if got := symptom.ask(inProcess(t, b.Name)); got != symptom.broken {
				t.Errorf("the broken server: got %s, want %s", got, symptom.broken)
			}
		})
	}
}

func TestCrashOnHostileInput(t *testing.T) {
	var stderr bytes.Buffer
	s, exited := crashing(t, &stderr)
	hostile := mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: "getCustomerStatus", Arguments: map[string]any{"customerId": "'; DROP TABLE users; --"},
	}}
	if got := s.rejection("getCustomerStatus", map[string]any{"customerId": "INVALID"}); got == "" {
		t.Error("a harmless bad id: got an answer, want a rejection")
	}
	res, err := s.c.CallTool(t.Context(), hostile)
	if !errors.Is(err, transport.ErrTransportClosed) {
		t.Errorf("hostile id: got %v and error %v, want a closed transport", res, err)
	}
	if code := exited(); code != 2 || !strings.Contains(stderr.String(), "panic: acme: cannot parse") {
		t.Errorf("got exit code %d and stderr %q, want 2 and a panic", code, stderr.String())
	}
}

// Every name is told apart, says something, and names its cases once.
func TestBreaksAreWellFormed(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { checkWellFormed(t, Breaks(name)) })
	}
}

func checkWellFormed(t *testing.T, breaks []Break) {
	t.Helper()
	seen := map[string]bool{}
	for _, b := range breaks {
		if seen[b.Name] {
			t.Errorf("break %s is listed twice", b.Name)
		}
		seen[b.Name] = true
		if b.Summary == "" || len(b.Fails) == 0 {
			t.Errorf("break %s: got summary %q and %d suites that fail, want some of both", b.Name, b.Summary, len(b.Fails))
		}
		suites := map[string]bool{}
		for _, f := range b.Fails {
			if suites[f.Suite] || len(f.Cases) == 0 {
				t.Errorf("break %s: suite %s is listed twice or without cases", b.Name, f.Suite)
			}
			suites[f.Suite] = true
			cases := map[string]bool{}
			for _, id := range f.Cases {
				if cases[id] {
					t.Errorf("break %s, suite %s: case %s is listed twice", b.Name, f.Suite, id)
				}
				cases[id] = true
			}
		}
	}
}

// A break changes what it says and nothing else: the listing differs in no tool
// that its summary does not name.
func TestBreaksLeaveOtherToolsAlone(t *testing.T) {
	whole := inProcess(t, "").listing()
	for _, b := range Breaks("acme") {
		t.Run(b.Name, func(t *testing.T) {
			broken := inProcess(t, b.Name).listing()
			for name, def := range whole {
				if strings.Contains(b.Summary, name) {
					continue
				}
				if diff := cmp.Diff(def, broken[name]); diff != "" {
					t.Errorf("tool %s (-whole +broken):\n%s", name, diff)
				}
			}
		})
	}
}

// listing is the raw definition of each tool, as it travels.
func (s session) listing() map[string]map[string]any {
	s.t.Helper()
	res, err := s.c.GetTransport().SendRequest(s.t.Context(), transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId("listing"), Method: string(mcp.MethodToolsList),
	})
	if err != nil {
		s.t.Fatalf("list tools: %v", err)
	}
	var page struct {
		Tools []map[string]any `json:"tools"`
	}
	decode(s.t, string(res.Result), &page)
	byName := map[string]map[string]any{}
	for _, tool := range page.Tools {
		byName[tool["name"].(string)] = tool
	}
	return byName
}

// listed is a value in a tool's definition as JSON, or "none" without the tool.
func (s session) listed(tool string, path ...string) string {
	s.t.Helper()
	def, ok := s.listing()[tool]
	if !ok {
		return "none"
	}
	var v any = def
	for _, key := range path {
		v = v.(map[string]any)[key]
	}
	return asJSON(v)
}

func readsReport(s session) string {
	order := s.object("getOrderStatus", map[string]any{"orderId": "ORD-20240815"})
	uri := order["reportUri"].(string)
	_, err := s.c.ReadResource(s.t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
	switch {
	case err == nil:
		return asJSON("read")
	case errors.Is(err, mcp.ErrResourceNotFound):
		return asJSON("resource not found")
	default:
		return asJSON(err.Error())
	}
}

func hangs(s session) string {
	return hangsOn(s, "getSLACompliance", map[string]any{"serviceId": "api-gateway"})
}

// hangsOn gives a slow tool three seconds, on a transport that heeds the deadline. A
// whole server answers in a few milliseconds.
func hangsOn(s session, tool string, arguments any) string {
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Second)
	defer cancel()
	_, err := s.c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: tool, Arguments: arguments,
	}})
	switch {
	case ctx.Err() != nil:
		return asJSON(ctx.Err().Error())
	case err != nil:
		return asJSON(err.Error())
	default:
		return asJSON("answered")
	}
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// crashing starts a server that dies of SQL; exited waits for its exit code.
func crashing(t *testing.T, stderr *bytes.Buffer) (s session, exited func() int) {
	t.Helper()
	cmd, in, out := command(t, "crash-on-hostile-input", stderr)
	s = connect(t, client.NewClient(transport.NewIO(out, in, io.NopCloser(strings.NewReader("")))))
	return s, func() int {
		_ = in.Close() // should it still live, it ends now
		_ = cmd.Wait() // an exit code is an error here
		return cmd.ProcessState.ExitCode()
	}
}
