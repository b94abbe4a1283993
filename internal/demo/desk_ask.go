package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// order finds an order as this session has left it.
func (v *visit) order(arguments object) (order, *violation) {
	id := text(arguments, "order_id")
	for _, t := range v.seen() {
		kept, ok := t.Orders[id]
		if !ok {
			continue
		}
		o := *kept
		if cents, ok := v.ledger.refunded[id]; ok {
			o.Status, o.Refunded = "REFUNDED", cents
		}
		o.Escalated = v.ledger.escalated[id]
		return o, nil
	}
	return order{}, &violation{"order_id", "does not exist"}
}

func (v *visit) getOrder(arguments object) reply {
	o, missing := v.order(arguments)
	return reply{object: o, rejected: missing}
}

// findCustomer answers with one customer and all that is known of it, or with
// the customers of a region by name alone.
func (v *visit) findCustomer(arguments object) reply {
	found := []customer{}
	id, region := text(arguments, "id"), text(arguments, "region")
	for _, t := range v.seen() {
		if c, ok := t.Customers[id]; ok {
			found = []customer{*c}
		}
		for _, c := range t.Customers {
			if c.Region == region {
				found = append(found, customer{ID: c.ID, Name: c.Name, Region: c.Region, Tier: c.Tier})
			}
		}
	}
	if id != "" && len(found) == 0 {
		return refuse("id", "does not exist")
	}
	slices.SortFunc(found, func(a, b customer) int { return cmp.Compare(a.ID, b.ID) })
	found = slices.Compact(found)
	lines := []string{}
	for _, c := range found {
		lines = append(lines, string(eval.Encode(c)))
	}
	return reply{object: object{"customers": found}, lines: lines}
}

func (v *visit) issueRefund(arguments object) reply {
	o, missing := v.order(arguments)
	cents := number(arguments, "amount_cents", 0)
	switch limit := v.desk.limit; {
	case v.caller.viewer():
		return refuse("", "forbidden, a viewer may not refund")
	case missing != nil:
		return reply{rejected: missing}
	case o.Status == "REFUNDED" && !v.desk.again:
		return refuse("order_id", "already refunded")
	case cents > limit:
		return refuse("amount_cents", fmt.Sprintf("over the limit, escalate (the limit is %d.%02d USD)", limit/100, limit%100))
	case cents > o.TotalCents:
		return refuse("amount_cents", "more than the order cost")
	}
	v.ledger.refunded[o.ID] += cents
	return reply{object: object{
		"order_id": o.ID, "status": "REFUNDED", "refunded_cents": v.ledger.refunded[o.ID], "currency": o.Currency,
	}}
}

func (v *visit) escalate(arguments object) reply {
	o, missing := v.order(arguments)
	if missing != nil {
		return reply{rejected: missing}
	}
	v.ledger.escalated[o.ID] = true
	for _, t := range v.seen() {
		if e, ok := t.Escalations[o.ID]; ok {
			return reply{object: object{"order_id": o.ID, "job_id": e.JobID}}
		}
	}
	return refuse("order_id", "nobody decides on it")
}

// polls of a job until it is done.
const polls = 3

// getJob finds a job running twice, then done.
func (v *visit) getJob(arguments object) reply {
	id := text(arguments, "id")
	uri, ok := v.jobs()[id]
	if !ok {
		return refuse("id", "does not exist")
	}
	v.ledger.asked[id]++
	if v.ledger.asked[id] < polls {
		return reply{object: object{"id": id, "state": "running"}}
	}
	return reply{object: object{"id": id, "state": "done", "report_uri": uri}}
}

// jobs are those that the visitor may ask for, with their reports: the packing
// of orders, and what was escalated.
func (v *visit) jobs() map[string]string {
	jobs := map[string]string{}
	for _, t := range v.seen() {
		for id, o := range t.Orders {
			jobs[o.JobID] = o.ReportURI
			if e := t.Escalations[id]; e != nil && v.ledger.escalated[id] {
				jobs[e.JobID] = e.ReportURI
			}
		}
	}
	return jobs
}

// reports are the URIs that the visitor may read: those of orders, and those of
// decisions that were waited for.
func (v *visit) reports() map[string]bool {
	readable := map[string]bool{}
	for _, t := range v.seen() {
		for uri := range maps.Keys(t.Reports) {
			readable[uri] = true
		}
	}
	for id, uri := range v.jobs() {
		if v.ledger.asked[id] >= polls {
			readable[uri] = true
		}
	}
	return readable
}
