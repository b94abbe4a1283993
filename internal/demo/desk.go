package demo

import (
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/server"
)

// A desk is the server of a support desk: it looks orders and customers up, pays
// back small sums, and asks a supervisor about large ones. What a session
// changes, that session alone sees. Two companies share the desk, and neither
// sees anything of the other.
type desk struct {
	tools   []*tool
	tenants map[string]*tenant
	books   *perSession[books]
	// caller is who calls when a request does not say.
	caller Caller
	// limit is the largest refund, in cents.
	limit int
	// again lets an order be refunded twice.
	again bool
	// leaky shows each company what belongs to the other.
	leaky bool
}

// A tenant is one of the companies, with all that is known of it. Orders are
// numbered by each company for itself.
type tenant struct {
	Customers   map[string]*customer   `json:"customers"`
	Orders      map[string]*order      `json:"orders"`
	Reports     map[string]object      `json:"reports"`
	Escalations map[string]*escalation `json:"escalations"`
}

// A customer of one of the companies. Contact and payment data are shown only
// to who asks for the customer by id.
type customer struct {
	ID     string `json:"customer_id"`
	Name   string `json:"name"`
	Region string `json:"region"`
	Tier   string `json:"tier"`
	Email  string `json:"email,omitempty"`
	Phone  string `json:"phone,omitempty"`
	Card   string `json:"card,omitempty"`
}

// An order as get_order shows it. Refunded and Escalated are those of a session.
type order struct {
	ID         string `json:"order_id"`
	CustomerID string `json:"customer_id"`
	Status     string `json:"status"`
	Items      int    `json:"items"`
	TotalCents int    `json:"total_cents"`
	Currency   string `json:"currency"`
	Region     string `json:"primary_region"`
	ReportURI  string `json:"report_uri"`
	JobID      string `json:"job_id"`
	Note       string `json:"note"`
	Refunded   int    `json:"refunded_cents"`
	Escalated  bool   `json:"escalated"`
}

// An escalation is what a supervisor will say of an order, should one be asked.
type escalation struct {
	JobID         string `json:"job_id"`
	ReportURI     string `json:"report_uri"`
	Decision      string `json:"decision"`
	ApprovedCents int    `json:"approved_cents"`
}

func newDesk(c Caller) (*desk, error) {
	d := &desk{caller: c, limit: 100_00, books: newPerSession(newBooks)}
	if err := decodeFile("desk/data.json", &d.tenants); err != nil {
		return nil, err
	}
	for _, t := range d.tenants {
		for id, c := range t.Customers {
			c.ID = id
		}
		for id, o := range t.Orders {
			o.ID = id
		}
	}
	var err error
	d.tools, err = decodeTools("desk/tools.json", map[string]answer{
		"get_order":     d.answer((*visit).getOrder),
		"find_customer": d.answer((*visit).findCustomer),
		"issue_refund":  d.answer((*visit).issueRefund),
		"escalate":      d.answer((*visit).escalate),
		"get_job":       d.answer((*visit).getJob),
	})
	return d, err
}

func (d *desk) serve() (*server.MCPServer, error) {
	hooks := &server.Hooks{}
	d.books.forgetIn(hooks)
	d.showReportsIn(hooks)
	s, err := newServer("desk", d.tools, server.WithResourceCapabilities(false, false), server.WithHooks(hooks))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.tenants)) {
		t := d.tenants[name]
		for _, uri := range slices.Sorted(maps.Keys(t.Reports)) {
			s.AddResources(report(uri, t.Reports[uri]))
		}
		for _, id := range slices.Sorted(maps.Keys(t.Escalations)) {
			e := t.Escalations[id]
			s.AddResources(report(e.ReportURI, object{"order_id": id, "decision": e.Decision, "approved_cents": e.ApprovedCents}))
		}
	}
	return s, nil
}
