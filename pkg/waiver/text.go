package waiver

import (
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Namespace of signatures of waivers: `ssh-keygen -Y sign -n evalfarm-waiver`. One
// that was made for anything else is good for none.
const Namespace = "evalfarm-waiver"

// Text is what is signed of a waiver of a suite: lines that end in a newline, each a
// word and a JSON string, always these and in this order.
//
//	evalfarm waiver 1
//	suite "support-desk"
//	case "orders/refund"
//	reason "Refunds are broken until #412 is in"
//	approver "ann@example.com"
//	expires "2026-12-31T00:00:00Z"
//
// A waiver of a rule has the word rule in the place of case. A string cannot end its
// line, so no two waivers have the same text.
func Text(suite string, w eval.Waiver) string {
	var b strings.Builder
	b.WriteString("evalfarm waiver 1\n")
	line := func(word, value string) {
		b.WriteString(word + " ")
		b.Write(eval.Encode(value))
		b.WriteByte('\n')
	}
	line("suite", suite)
	if w.Rule != "" {
		line("rule", string(w.Rule))
	} else {
		line("case", w.Case)
	}
	line("reason", w.Reason)
	line("approver", w.Approver)
	line("expires", w.Expires.UTC().Format(time.RFC3339))
	return b.String()
}
