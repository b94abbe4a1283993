package demo

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A session calls a demo server and fails the test when no answer comes.
type session struct {
	t *testing.T
	c *client.Client
}

// inProcess connects to the server of Acme in this process.
func inProcess(t *testing.T, regression string) session {
	t.Helper()
	return open(t, Options{Name: "acme", Break: regression})
}

// open connects to a server in this process.
func open(t *testing.T, o Options) session {
	t.Helper()
	d, err := build(o)
	if err != nil {
		t.Fatal(err)
	}
	return connectTo(t, d.mcp)
}

func connectTo(t *testing.T, s *server.MCPServer) session {
	t.Helper()
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, c)
}

// num is a number as it is decoded.
func num(text string) json.Number { return json.Number(text) }

func connect(t *testing.T, c *client.Client) session {
	t.Helper()
	client.WithProtocolVersion(mcp.ProtocolVersion20251125)(c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return session{t, c}
}

func (s session) call(tool string, arguments any) *mcp.CallToolResult {
	s.t.Helper()
	res, err := s.c.CallTool(s.t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments}})
	if err != nil {
		s.t.Fatalf("call %s %v: %v", tool, arguments, err)
	}
	return res
}

// object calls a tool and gives its structured content, after checking that the
// text says the same.
func (s session) object(tool string, arguments any) map[string]any {
	s.t.Helper()
	res := s.call(tool, arguments)
	if res.IsError {
		s.t.Fatalf("%s %v: got a rejection %v, want an object", tool, arguments, blocks(res))
	}
	var structured, text map[string]any
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(res.RawStructuredContent) > 0 {
		raw = res.RawStructuredContent
	}
	decode(s.t, string(raw), &structured)
	decode(s.t, blocks(res)[0], &text)
	if diff := cmp.Diff(structured, text); diff != "" {
		s.t.Errorf("%s: text differs from structuredContent (-structured +text):\n%s", tool, diff)
	}
	return structured
}

func (s session) lines(tool string, arguments any) []string {
	s.t.Helper()
	res := s.call(tool, arguments)
	if res.IsError {
		s.t.Fatalf("%s %v: got a rejection %v, want lines", tool, arguments, blocks(res))
	}
	return blocks(res)
}

// rejection is the text of an isError result, or "".
func (s session) rejection(tool string, arguments any) string {
	s.t.Helper()
	res := s.call(tool, arguments)
	if !res.IsError {
		return ""
	}
	return strings.Join(blocks(res), "\n")
}

func blocks(res *mcp.CallToolResult) []string {
	texts := []string{}
	for _, c := range res.Content {
		text, _ := mcp.AsTextContent(c)
		texts = append(texts, text.Text)
	}
	return texts
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
}

func TestListing(t *testing.T) {
	res, err := inProcess(t, "").c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	want := []string{"getAuditTrail", "getCustomerStatus", "getOrderStatus", "getSLACompliance", "getZoneHealthLogs"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestObjects(t *testing.T) {
	s := inProcess(t, "")
	for name, tt := range map[string]struct {
		tool string
		args map[string]any
		want map[string]any
	}{
		"active customer": {"getCustomerStatus", map[string]any{"customerId": "CUST-4091"}, map[string]any{
			"customerId": "CUST-4091", "name": "Harbor Street Capital", "accountNumber": num("9007199254740993"), "status": "ACTIVE",
			"tier": "ENTERPRISE_TIER", "primaryRegion": "US-EAST-1", "orders": []any{"ORD-20240815"},
		}},
		"unknown customer": {"getCustomerStatus", map[string]any{"customerId": "CUST-9999"}, map[string]any{
			"customerId": "CUST-9999", "status": "NOT_FOUND", "tier": "UNKNOWN", "primaryRegion": "UNKNOWN",
		}},
		"shipped order": {"getOrderStatus", map[string]any{"orderId": "ORD-20240815"}, map[string]any{
			"orderId": "ORD-20240815", "status": "SHIPPED", "itemCount": num("12"), "totalAmount": "$48,750.00", "reportUri": "acme://report/q7Zr2vKx9",
		}},
		"unknown order": {"getOrderStatus", map[string]any{"orderId": "ORD-19990101"}, map[string]any{
			"orderId": "ORD-19990101", "status": "NOT_FOUND", "itemCount": num("0"), "totalAmount": "$0.00",
		}},
		"service": {"getSLACompliance", map[string]any{"serviceId": "data-pipeline"}, map[string]any{
			"serviceId": "data-pipeline", "targetPct": num("99.0"), "compliancePct": num("98.5"), "violationCount": num("12"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := session{t, s.c}
			if diff := cmp.Diff(tt.want, s.object(tt.tool, tt.args)); diff != "" {
				t.Errorf("%s %v (-want +got):\n%s", tt.tool, tt.args, diff)
			}
		})
	}
}

func TestLists(t *testing.T) {
	s := inProcess(t, "")
	for name, tt := range map[string]struct {
		tool, key, id string
		want          int
	}{
		"zone in the US":   {"getZoneHealthLogs", "zoneId", "US-EAST-1", 6},
		"zone in the EU":   {"getZoneHealthLogs", "zoneId", "EU-WEST-1", 6},
		"zone in Asia":     {"getZoneHealthLogs", "zoneId", "AP-SOUTH-1", 6},
		"unknown zone":     {"getZoneHealthLogs", "zoneId", "MOON-1", 0},
		"audited customer": {"getAuditTrail", "customerId", "CUST-4091", 5},
		"unknown customer": {"getAuditTrail", "customerId", "CUST-9999", 0},
	} {
		t.Run(name, func(t *testing.T) {
			lines := session{t, s.c}.lines(tt.tool, map[string]any{tt.key: tt.id})
			if len(lines) != tt.want {
				t.Errorf("%s %s: got %d blocks, want %d", tt.tool, tt.id, len(lines), tt.want)
			}
			if tt.tool != "getAuditTrail" {
				return
			}
			for _, line := range lines {
				var event map[string]any
				decode(t, line, &event)
				if event["eventId"] == nil {
					t.Errorf("event without eventId: %s", line)
				}
			}
		})
	}
}

func TestRejections(t *testing.T) {
	s := inProcess(t, "")
	for name, tt := range map[string]struct {
		tool string
		args any
		want string
	}{
		"wrong format":      {"getCustomerStatus", map[string]any{"customerId": "INVALID"}, `getCustomerStatus.customerId: must match "^CUST-[0-9]{4,8}$"`},
		"SQL":               {"getCustomerStatus", map[string]any{"customerId": "'; DROP TABLE users; --"}, `getCustomerStatus.customerId: must match "^CUST-[0-9]{4,8}$"`},
		"empty":             {"getCustomerStatus", map[string]any{"customerId": ""}, `getCustomerStatus.customerId: must match "^CUST-[0-9]{4,8}$"`},
		"newline at end":    {"getCustomerStatus", map[string]any{"customerId": "CUST-4091\n"}, `getCustomerStatus.customerId: must match "^CUST-[0-9]{4,8}$"`},
		"nine digits":       {"getCustomerStatus", map[string]any{"customerId": "CUST-123456789"}, `getCustomerStatus.customerId: must match "^CUST-[0-9]{4,8}$"`},
		"order":             {"getOrderStatus", map[string]any{"orderId": "ORD-123"}, `getOrderStatus.orderId: must match "^ORD-[0-9]{8}$"`},
		"script":            {"getAuditTrail", map[string]any{"customerId": "<script>alert(1)</script>"}, `getAuditTrail.customerId: must match "^CUST-[0-9]{4,8}$"`},
		"long zone":         {"getZoneHealthLogs", map[string]any{"zoneId": strings.Repeat("A", 21)}, "getZoneHealthLogs.zoneId: size must be between 1 and 20"},
		"empty zone":        {"getZoneHealthLogs", map[string]any{"zoneId": ""}, "getZoneHealthLogs.zoneId: size must be between 1 and 20"},
		"long service":      {"getSLACompliance", map[string]any{"serviceId": strings.Repeat("s", 41)}, "getSLACompliance.serviceId: size must be between 1 and 40"},
		"unknown service":   {"getSLACompliance", map[string]any{"serviceId": "fax"}, "getSLACompliance.serviceId: does not exist"},
		"no arguments":      {"getCustomerStatus", nil, "getCustomerStatus.customerId: must not be null"},
		"null":              {"getCustomerStatus", map[string]any{"customerId": nil}, "getCustomerStatus.customerId: must not be null"},
		"number":            {"getCustomerStatus", map[string]any{"customerId": 4091}, "getCustomerStatus.customerId: must be a string"},
		"unknown parameter": {"getCustomerStatus", map[string]any{"customerId": "CUST-4091", "id": "x"}, `getCustomerStatus."id": is no parameter`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (session{t, s.c}).rejection(tt.tool, tt.args); got != tt.want {
				t.Errorf("%s %v: got %q, want %q", tt.tool, tt.args, got, tt.want)
			}
		})
	}
}

// The size of an argument is counted in characters, not in bytes.
func TestSizeCountsCharacters(t *testing.T) {
	if got := inProcess(t, "").rejection("getZoneHealthLogs", map[string]any{"zoneId": strings.Repeat("ß", 20)}); got != "" {
		t.Errorf("20 characters of 2 bytes: got rejection %q, want none", got)
	}
}

func TestReport(t *testing.T) {
	s := inProcess(t, "")
	order := s.object("getOrderStatus", map[string]any{"orderId": "ORD-20241003"})
	got := s.read(order["reportUri"].(string))
	want := map[string]any{
		"orderId": "ORD-20241003", "status": "DELIVERED", "carrier": "Blue Pelican Freight", "parcels": json.Number("7"), "signedFor": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func (s session) read(uri string) map[string]any {
	s.t.Helper()
	res, err := s.c.ReadResource(s.t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
	if err != nil {
		s.t.Fatalf("read %s: %v", uri, err)
	}
	text, _ := mcp.AsTextResourceContents(res.Contents[0])
	var got map[string]any
	decode(s.t, text.Text, &got)
	return got
}

func TestUnknownBreak(t *testing.T) {
	err := Check(Options{Name: "acme", Break: "renamed-tire"})
	if err == nil || !strings.Contains(err.Error(), `unknown break "renamed-tire"; there are renamed-tier, `) {
		t.Errorf("got error %v, want one that lists the breaks", err)
	}
}
