package meter

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// What is spent for lost answers is a part of what is spent.
func TestUnansweredIsAPartOfSpent(t *testing.T) {
	p := NewPurse(eval.Amount{})
	p.settle(eval.Amount{MicroUSD: 9}, eval.Amount{MicroUSD: 4})
	p.settle(eval.Amount{MicroUSD: 9}, eval.Amount{MicroUSD: 9})
	p.lost(eval.Amount{MicroUSD: 9})
	if spent, lost := p.Spent().MicroUSD+18, p.Unanswered(); spent != 13 || lost != 9 { // 18 were never reserved
		t.Errorf("got %d spent and %d of it for lost answers, want 13 and 9", spent, lost)
	}
}
