// Package catalog checks what a server says of its tools.
//
// It works on the raw results of tools/list alone. A client library decodes a
// schema into its own types and loses what they have no place for, such as an
// allOf at the root, and one odd tool makes the whole listing unreadable. Here
// each tool is looked at by itself: what is wrong with it is its own fault, and
// the rest is still checked.
//
// Everything in a listing is hostile text. Nothing in it makes [Check] panic,
// and the number and length of what it reports are bounded.
package catalog

import (
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxOffences of one rule become scores of their own; the rest is counted.
const maxOffences = 50

// Check applies the rules of a catalog case to a listing, given as the raw
// result of every tools/list page. It returns one score for each tool that
// breaks a rule and one for each rule that holds everywhere, in the order of
// [Rules].
//
// Without names in the spec every rule applies. The rules that need a bound
// apply whenever the spec has it, named or not. Lock is not looked at.
func Check(pages []eval.JSON, spec eval.Catalog) (eval.Listing, []eval.Score) {
	l := read(pages)
	if len(l.tools) == 0 && len(l.problems) > 0 {
		// Nothing was read, so nothing else can be said.
		return eval.Listing{}, rules()[0].score(l, spec)
	}
	var scores []eval.Score
	for _, r := range rules() {
		named := len(spec.Rules) == 0 || slices.Contains(spec.Rules, r.name)
		switch {
		case r.name == ruleListing && len(l.problems) > 0: // nothing else is to be trusted
		case r.bounded != nil && r.bounded(spec):
		case !named, len(spec.Rules) == 0 && r.bounded != nil:
			continue
		}
		scores = append(scores, r.score(l, spec)...)
	}
	for _, name := range spec.Rules {
		if !slices.Contains(Rules(), name) {
			scores = append(scores, failed(name, "", offence{message: fmt.Sprintf("there is no rule %q", name)}))
		}
	}
	return eval.Listing{Tools: len(l.tools), ContextTokens: l.contextTokens(), Fingerprint: l.fingerprint()}, scores
}

// Summarize counts and fingerprints the listings of one or more servers, each
// given as the raw result of every tools/list page, as if they were one.
func Summarize(servers ...[]eval.JSON) eval.Listing {
	var all listing
	for _, pages := range servers {
		all.tools = append(all.tools, read(pages).tools...)
	}
	return eval.Listing{Tools: len(all.tools), ContextTokens: all.contextTokens(), Fingerprint: all.fingerprint()}
}

// score decides one rule.
func (r rule) score(l listing, spec eval.Catalog) []eval.Score {
	offences := r.find(l, spec)
	if len(offences) == 0 {
		return []eval.Score{{Check: r.name, Title: r.title, Value: 1, Pass: true}}
	}
	if more := len(offences) - maxOffences; more > 0 {
		offences = append(offences[:maxOffences:maxOffences], offence{message: fmt.Sprintf("and %d more", more)})
	}
	var scores []eval.Score
	for _, o := range offences {
		s := failed(r.name, r.title, o)
		s.Warning = r.warning
		scores = append(scores, s)
	}
	return scores
}

func failed(name, title string, o offence) eval.Score {
	s := eval.Score{Check: name, Title: title, Reason: eval.ReasonCatalogRule, Target: o.tool, Message: o.message}
	if o.tool != "" {
		s.Message = o.tool + ": " + o.message
	}
	if o.expected != nil {
		s.Expected, s.Actual = eval.Encode(o.expected), eval.Encode(o.actual)
	}
	return s
}
