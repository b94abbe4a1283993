package demo

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A process of its own takes its caller from the environment.
func TestDeskStdio(t *testing.T) {
	s := overStdio(t, "desk", "DESK_TENANT=globex", "DESK_TOKEN=viewer")
	if got := s.object("get_order", args{"order_id": "ORD-20240815"})["customer_id"]; got != "CUST-7734" {
		t.Errorf("got an order of %v, want of CUST-7734", got)
	}
	if got := s.rejection("issue_refund", refund("ORD-20241201", 100)); !strings.Contains(got, "forbidden") {
		t.Errorf("got %q, want forbidden", got)
	}
	s = overStdio(t, "desk")
	s.object("issue_refund", refund("ORD-20241003", 4599))
	if got := s.object("get_order", args{"order_id": "ORD-20241003"})["status"]; got != "REFUNDED" {
		t.Errorf("got status %v, want REFUNDED", got)
	}
}

// Over HTTP each session has its own state, and each request says who calls.
func TestDeskHTTP(t *testing.T) {
	url, stop := listen(t, Options{Name: "desk", HTTP: ":0"})
	plain, second := dial(t, url, nil), dial(t, url, nil)
	globex := dial(t, url, map[string]string{"X-Desk-Tenant": "globex"})
	viewer := dial(t, url, map[string]string{"Authorization": "Bearer viewer"})

	plain.object("issue_refund", refund("ORD-20241003", 4599))
	for _, tt := range []struct {
		who            session
		order, status  string
		report, hidden string
	}{
		{plain, "ORD-20241003", "REFUNDED", "report://e1HbNs6Pd", "report://Bx4nO6fJk"},
		{second, "ORD-20241003", "DELIVERED", "report://e1HbNs6Pd", "report://Bx4nO6fJk"},
		{globex, "ORD-20241201", "DELIVERED", "report://Bx4nO6fJk", "report://e1HbNs6Pd"},
	} {
		if got := tt.who.object("get_order", args{"order_id": tt.order})["status"]; got != tt.status {
			t.Errorf("%s: got status %v, want %s", tt.order, got, tt.status)
		}
		if !tt.who.lists(tt.report) || !tt.who.readable(tt.report) || tt.who.lists(tt.hidden) || tt.who.readable(tt.hidden) {
			t.Errorf("want %s to be listed and read, and %s not", tt.report, tt.hidden)
		}
	}
	if got := viewer.rejection("issue_refund", refund("ORD-20241003", 1)); !strings.Contains(got, "forbidden") {
		t.Errorf("viewer: got %q, want forbidden", got)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Desk-Tenant", "hooli")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a company that there is not: got %s, want 403", res.Status)
	}
	if err := stop(); err != nil {
		t.Errorf("got error %v after the end of the context, want none", err)
	}
}

// What a session did is forgotten when it ends.
func TestDeskForgets(t *testing.T) {
	d, err := newDesk(Caller{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.serve()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		t.Run(fmt.Sprint("session ", i), func(t *testing.T) {
			who := connectTo(t, s)
			who.object("issue_refund", refund("ORD-20241003", 4599))
			if n := len(d.books.all); n != 1 {
				t.Errorf("got the books of %d sessions, want 1", n)
			}
		})
	}
	if n := len(d.books.all); n != 0 {
		t.Errorf("got the books of %d sessions after all have ended, want none", n)
	}
}
