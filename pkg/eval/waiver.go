package eval

import (
	"path"
	"time"
)

// A Waiver takes a case, or a rule of the gate, out of the gate until it expires. The
// case is still run, and counted in every rate.
type Waiver struct {
	// Case is an id or a glob of ids; Rule the name of a metric. One of them is set.
	Case string `json:"case,omitempty"`
	Rule Metric `json:"rule,omitempty"`
	// Reason in words.
	Reason string `json:"reason"`
	// Approver is who answers for it.
	Approver string `json:"approver"`
	// Expires is the first moment at which it does not hold.
	Expires time.Time `json:"expires"`
	// Approval says how it was approved: by which key, or on which branch.
	Approval string `json:"approval,omitempty"`
	// File and line that it is from.
	At string `json:"at,omitempty"`
}

// Covers says whether a waiver is about a case: its id, or one of the parts that the
// id begins with, is what [path.Match] finds for Case, so that "order/*" also covers
// "order/rejects/1", as --case does. A waiver of a rule covers none.
func (w Waiver) Covers(id string) bool {
	for p := id; p != "." && p != "/"; p = path.Dir(p) {
		if ok, err := path.Match(w.Case, p); ok && err == nil {
			return true
		}
	}
	return false
}

// A Quarantine takes a flaky case out of the gate until it expires. It is still run,
// and shown.
type Quarantine struct {
	Suite string `json:"suite"`
	// Case is an id; Variant narrows it to one variant.
	Case    string    `json:"case"`
	Variant string    `json:"variant,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"by,omitempty"`
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires"`
}

// Covers says whether a quarantine is about a cell.
func (q Quarantine) Covers(id, variant string) bool {
	return q.Case == id && (q.Variant == "" || q.Variant == variant)
}

// An Exemption is what a waiver or a quarantine did in a run.
type Exemption struct {
	// Waiver or Quarantine; one is set.
	Waiver     *Waiver     `json:"waiver,omitempty"`
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	// Expired ones do nothing.
	Expired bool `json:"expired,omitempty"`
	// Cells that it took out of the gate, and how many of their trials did not pass.
	// Both are 0 for one that was not used, and for a waived rule.
	Cells int `json:"cells,omitempty"`
	Fails int `json:"fails,omitempty"`
	// Used says whether it made a difference.
	Used bool `json:"used,omitempty"`
}
