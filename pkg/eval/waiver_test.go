package eval

import "testing"

func TestWaiverCovers(t *testing.T) {
	for _, test := range []struct {
		name, glob, id string
		want           bool
	}{
		{"itself", "order/refund", "order/refund", true},
		{"another", "order/refund", "order/return", false},
		{"a glob", "order/*", "order/refund", true},
		{"a glob of what the id begins with", "order/*", "order/rejects/1", true},
		{"the beginning itself", "order", "order/rejects/1", true},
		{"only a part of a word", "ord", "order/refund", false},
		{"a bad glob", "[", "order", false},
		{"a waiver of a rule", "", "order", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (Waiver{Case: test.glob}).Covers(test.id); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestQuarantineCovers(t *testing.T) {
	for _, test := range []struct {
		name string
		q    Quarantine
		want bool
	}{
		{"all variants", Quarantine{Case: "order"}, true},
		{"its variant", Quarantine{Case: "order", Variant: "model=a"}, true},
		{"another variant", Quarantine{Case: "order", Variant: "model=b"}, false},
		{"another case", Quarantine{Case: "orders"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.q.Covers("order", "model=a"); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
