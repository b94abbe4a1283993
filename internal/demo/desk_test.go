package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
)

type args = map[string]any

// atDesk connects to a support desk in this process.
func atDesk(t *testing.T, c Caller, regression string) session {
	t.Helper()
	return open(t, Options{Name: "desk", Caller: c, Break: regression})
}

func refund(order string, cents int) args {
	return args{"order_id": order, "amount_cents": cents, "reason": "damaged"}
}

func TestDeskOrder(t *testing.T) {
	got := atDesk(t, Caller{}, "").object("get_order", args{"order_id": "ORD-20240815"})
	want := args{
		"order_id": "ORD-20240815", "customer_id": "CUST-4091", "status": "SHIPPED", "items": num("3"), "total_cents": num("18940"),
		"currency": "USD", "primary_region": "US-EAST-1", "report_uri": "report://q7Zr2vKx9", "job_id": "JOB-1F40A2C7",
		"note": "Leave with the doorman.", "refunded_cents": num("0"), "escalated": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestDeskCustomers(t *testing.T) {
	s := atDesk(t, Caller{}, "")
	for name, tt := range map[string]struct {
		args args
		want int
		card bool
	}{
		"by region":      {args{"region": "US-EAST-1"}, 6, false},
		"another region": {args{"region": "EU-WEST-1"}, 2, false},
		"nobody":         {args{"region": "XX-MOON-1"}, 0, false},
		"by id":          {args{"id": "CUST-4091"}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			res := session{t, s.c}.call("find_customer", tt.args)
			var structured struct{ Customers []args }
			decode(t, asJSON(res.StructuredContent), &structured)
			if len(structured.Customers) != tt.want || len(res.Content) != tt.want {
				t.Fatalf("got %d customers in %d blocks, want %d", len(structured.Customers), len(res.Content), tt.want)
			}
			for _, c := range structured.Customers {
				if _, card := c["card"]; card != tt.card {
					t.Errorf("got %v, want a card: %v", c, tt.card)
				}
			}
		})
	}
}

func TestDeskRejections(t *testing.T) {
	s := atDesk(t, Caller{}, "")
	for name, tt := range map[string]struct {
		tool string
		args any
		want string
	}{
		"malformed order":   {"get_order", args{"order_id": "ORD-1"}, `get_order.order_id: must match "^ORD-[0-9]{8}$"`},
		"empty order":       {"get_order", args{"order_id": ""}, `get_order.order_id: must match "^ORD-[0-9]{8}$"`},
		"unknown order":     {"get_order", args{"order_id": "ORD-19990101"}, "get_order.order_id: does not exist"},
		"no arguments":      {"get_order", nil, "get_order.order_id: must not be null"},
		"no object":         {"get_order", []any{1}, "get_order: arguments must be an object"},
		"neither":           {"find_customer", args{}, "find_customer: must have exactly 1 of id, region"},
		"both":              {"find_customer", args{"id": "CUST-4091", "region": "US-EAST-1"}, "find_customer: must have exactly 1 of id, region"},
		"null beside":       {"find_customer", args{"id": "CUST-4091", "region": nil}, "find_customer.region: must not be null"},
		"of the other":      {"find_customer", args{"id": "CUST-7734"}, "find_customer.id: does not exist"},
		"unknown customer":  {"find_customer", args{"id": "CUST-0000"}, "find_customer.id: does not exist"},
		"over the limit":    {"issue_refund", refund("ORD-20240815", 18940), "issue_refund.amount_cents: over the limit, escalate (the limit is 100.00 USD)"},
		"a cent over it":    {"issue_refund", refund("ORD-20240815", 10001), "issue_refund.amount_cents: over the limit, escalate (the limit is 100.00 USD)"},
		"over the price":    {"issue_refund", refund("ORD-20241003", 4600), "issue_refund.amount_cents: more than the order cost"},
		"nothing":           {"issue_refund", refund("ORD-20241003", 0), "issue_refund.amount_cents: must be greater than or equal to 1"},
		"too much to say":   {"issue_refund", refund("ORD-20241003", 1000001), "issue_refund.amount_cents: must be less than or equal to 1000000"},
		"half a cent":       {"issue_refund", args{"order_id": "ORD-20241003", "amount_cents": 1.5, "reason": "late"}, "issue_refund.amount_cents: must be an integer"},
		"dollars as text":   {"issue_refund", args{"order_id": "ORD-20241003", "amount_cents": "45.99", "reason": "late"}, "issue_refund.amount_cents: must be an integer"},
		"no such reason":    {"issue_refund", args{"order_id": "ORD-20241003", "amount_cents": 1, "reason": "whim"}, "issue_refund.reason: must be one of damaged, late, wrong_item, changed_mind"},
		"refunded long ago": {"issue_refund", refund("ORD-20230511", 1), "issue_refund.order_id: already refunded"},
		"refund of nothing": {"issue_refund", refund("ORD-19990101", 1), "issue_refund.order_id: does not exist"},
		"no reason given":   {"escalate", args{"order_id": "ORD-20240815", "reason": "x"}, "escalate.reason: size must be between 3 and 500"},
		"escalate nothing":  {"escalate", args{"order_id": "ORD-19990101", "reason": "please"}, "escalate.order_id: does not exist"},
		"unknown job":       {"get_job", args{"id": "JOB-00000000"}, "get_job.id: does not exist"},
		"not yet opened":    {"get_job", args{"id": "JOB-9B3C77F5"}, "get_job.id: does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (session{t, s.c}).rejection(tt.tool, tt.args); got != tt.want {
				t.Errorf("%s %v: got %q, want %q", tt.tool, tt.args, got, tt.want)
			}
		})
	}
}

// A refund is seen by the session that made it, in parts never, and once.
func TestDeskRefund(t *testing.T) {
	s, other := atDesk(t, Caller{}, ""), atDesk(t, Caller{}, "")
	got := s.object("issue_refund", refund("ORD-20241003", 4599))
	want := args{"order_id": "ORD-20241003", "status": "REFUNDED", "refunded_cents": num("4599"), "currency": "USD"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refund (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		who    session
		status string
		cents  string
	}{{s, "REFUNDED", "4599"}, {other, "DELIVERED", "0"}} {
		o := tt.who.object("get_order", args{"order_id": "ORD-20241003"})
		if o["status"] != tt.status || o["refunded_cents"] != num(tt.cents) {
			t.Errorf("got status %v and %v cents, want %s and %s", o["status"], o["refunded_cents"], tt.status, tt.cents)
		}
	}
	if got := s.rejection("issue_refund", refund("ORD-20241003", 1)); !strings.Contains(got, "already refunded") {
		t.Errorf("second refund: got %q, want a rejection", got)
	}
}

// An escalation opens a job, which runs twice and is done; only then its report
// can be listed and read.
func TestDeskEscalation(t *testing.T) {
	s := atDesk(t, Caller{}, "")
	const uri = "report://p8XwA4mZt"
	job := s.object("escalate", args{"order_id": "ORD-20240815", "reason": "over the limit"})["job_id"]
	if again := s.object("escalate", args{"order_id": "ORD-20240815", "reason": "still waiting"})["job_id"]; again != job {
		t.Errorf("got job %v for the second escalation, want %v again", again, job)
	}
	if s.object("get_order", args{"order_id": "ORD-20240815"})["escalated"] != true {
		t.Error("the order is not shown as escalated")
	}
	for i, state := range []string{"running", "running", "done", "done"} {
		if s.readable(uri) != (i > 2) || s.lists(uri) != (i > 2) {
			t.Errorf("before poll %d: readable %v, listed %v, want %v", i+1, s.readable(uri), s.lists(uri), i > 2)
		}
		got := s.object("get_job", args{"id": job})
		if got["state"] != state || (got["report_uri"] == uri) != (state == "done") {
			t.Errorf("poll %d: got %v, want state %s", i+1, got, state)
		}
	}
	want := args{"order_id": "ORD-20240815", "decision": "APPROVED", "approved_cents": num("18940")}
	if diff := cmp.Diff(want, s.read(uri)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// readable says whether a resource can be read; one that cannot is as one that
// there is not.
func (s session) readable(uri string) bool {
	s.t.Helper()
	_, err := s.c.ReadResource(s.t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
	if err != nil && !errors.Is(err, mcp.ErrResourceNotFound) {
		s.t.Errorf("read %s: got error %v, want resource not found", uri, err)
	}
	return err == nil
}

func (s session) lists(uri string) bool {
	s.t.Helper()
	res, err := s.c.ListResources(s.t.Context(), mcp.ListResourcesRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range res.Resources {
		if r.URI == uri {
			return true
		}
	}
	return false
}

func TestDeskReportOfAnOrder(t *testing.T) {
	s := atDesk(t, Caller{}, "")
	uri := s.object("get_order", args{"order_id": "ORD-20240815"})["report_uri"].(string)
	if got := s.read(uri)["status"]; got != "SHIPPED" || !s.lists(uri) {
		t.Errorf("got status %v, listed %v, want SHIPPED and listed", got, s.lists(uri))
	}
	for _, other := range []string{strings.ToUpper(uri), uri + "/", strings.TrimSuffix(uri, "9"), "report://Zc83mWq1T"} {
		if s.readable(other) {
			t.Errorf("%s can be read; only %s is the report", other, uri)
		}
	}
}

// Each company has its own orders under the same numbers.
func TestDeskKeepsCompaniesApart(t *testing.T) {
	acme, globex := atDesk(t, Caller{}, ""), atDesk(t, Caller{Tenant: "globex"}, "")
	for _, tt := range []struct {
		who                   session
		customer, job, report string
		region                string
	}{
		{acme, "CUST-4091", "JOB-1F40A2C7", "report://q7Zr2vKx9", "US-EAST-1"},
		{globex, "CUST-7734", "JOB-64E8B2D0", "report://Zc83mWq1T", "AP-SOUTH-1"},
	} {
		if got := tt.who.object("get_order", args{"order_id": "ORD-20240815"})["customer_id"]; got != tt.customer {
			t.Errorf("got ORD-20240815 of %v, want of %s", got, tt.customer)
		}
		if got := len(tt.who.lines("find_customer", args{"region": tt.region})); got != 6 {
			t.Errorf("got %d customers in %s, want 6", got, tt.region)
		}
		other := acme
		if tt.who == acme {
			other = globex
		}
		if n := len(other.lines("find_customer", args{"region": tt.region})); n != 0 {
			t.Errorf("the other company finds %d customers in %s", n, tt.region)
		}
		for _, call := range []struct {
			tool string
			args args
		}{{"find_customer", args{"id": tt.customer}}, {"get_job", args{"id": tt.job}}} {
			if got := other.rejection(call.tool, call.args); !strings.Contains(got, "does not exist") {
				t.Errorf("the other company: %s %v: got %q, want a rejection", call.tool, call.args, got)
			}
		}
		if other.readable(tt.report) || other.lists(tt.report) || !tt.who.lists(tt.report) {
			t.Errorf("%s is seen by the other company, or not by its own", tt.report)
		}
	}
}

func TestDeskViewer(t *testing.T) {
	s := atDesk(t, Caller{Token: "viewer-7f3a"}, "")
	if got := s.rejection("issue_refund", refund("ORD-20241003", 100)); got != "issue_refund: forbidden, a viewer may not refund" {
		t.Errorf("got %q, want forbidden", got)
	}
	if got := s.object("get_order", args{"order_id": "ORD-20241003"})["status"]; got != "DELIVERED" {
		t.Errorf("got status %v after a refund that was forbidden, want DELIVERED", got)
	}
}

func TestDeskListing(t *testing.T) {
	s := atDesk(t, Caller{}, "")
	whole := s.listing()
	for _, tool := range []string{"get_order", "find_customer", "issue_refund", "escalate", "get_job"} {
		if whole[tool] == nil {
			t.Errorf("no tool %s", tool)
		}
	}
	for tool, looks := range map[string]bool{"get_order": true, "issue_refund": false} {
		if got := whole[tool]["annotations"].(map[string]any)["readOnlyHint"]; got != looks {
			t.Errorf("%s: got readOnlyHint %v, want %v", tool, got, looks)
		}
	}
	for _, b := range Breaks("desk") {
		if diff := cmp.Diff(whole, atDesk(t, Caller{}, b.Name).listing()); diff != "" {
			t.Errorf("break %s changes the listing:\n%s", b.Name, diff)
		}
	}
}
