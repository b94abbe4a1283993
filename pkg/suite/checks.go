package suite

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// checks of an agent case.
func (b *build) checks(f *caseFile, c *eval.Case, known *names) []eval.Check {
	at := f.Node().Get("checks")
	b.placeholders(at, known)
	made := checkBuild{build: b, c: c, known: known, ids: map[string]bool{rubricID: true}}
	made.reserve(f.Checks)
	out := made.list(f.Checks, "")
	if len(out) == len(f.Checks) && b.sound(at) {
		b.decides(f, out)
	}
	return out
}

// decides warns of checks and weights that change nothing.
func (b *build) decides(f *caseFile, checks []eval.Check) {
	at, heavy := f.Node(), false
	for i, c := range checks {
		heavy = heavy || c.Weight == nil || *c.Weight > 0
		if c.Weight != nil && *c.Weight > 0 && f.Threshold == nil {
			b.warn(at.Get("checks").Items[i].Place("weight"), "the weight changes nothing: the case has no threshold", "without one every check must pass")
		}
	}
	switch {
	case !heavy && f.Threshold != nil && len(checks) > 0:
		b.report(at.Place("threshold"), "no check has a weight, so nothing reaches the threshold", "")
	case !heavy:
		b.warn(at.Place("checks"), "no check decides: whatever the agent does passes", "")
	}
}

// checkBuild makes the checks of one case.
type checkBuild struct {
	*build
	c     *eval.Case
	known *names
	// ids that are taken, in lower case.
	ids map[string]bool
}

// rubricID is the id of the check that a grading by another rubric adds to every
// agent trial.
const rubricID = "rubric"

// reserve takes the ids that the suite gives, so that no generated one gets in
// their way.
func (b *checkBuild) reserve(list []checkFile) {
	for i := range list {
		f := &list[i]
		if id := strings.ToLower(string(f.ID)); id != "" {
			if b.ids[id] {
				hint := "ids of checks differ inside a case"
				if id == rubricID {
					hint = "evalfarm judge --rubric adds a check of this name"
				}
				b.report(f.Node().Place("id"), fmt.Sprintf("the check id %q is taken", f.ID), hint)
			}
			b.ids[id] = true
		}
		b.reserve(f.Any)
		b.reserve(f.All)
		if f.Not != nil && f.Not.Check != nil {
			b.reserve([]checkFile{*f.Not.Check})
		}
	}
}

// list makes the checks of a case or of a group, whose id then begins theirs.
func (b *checkBuild) list(files []checkFile, group string) []eval.Check {
	var out []eval.Check
	for i := range files {
		if c, ok := b.check(&files[i], group); ok {
			out = append(out, c)
		}
	}
	return out
}

// check makes one check; false means that it was reported.
func (b *checkBuild) check(f *checkFile, group string) (eval.Check, bool) {
	var out eval.Check
	var kind string
	for { // through checks that are turned around, to the check itself
		if not := f.Node().Get("not"); !b.keysSound(f.Node()) || not != nil && !b.keysSound(not) {
			return out, false
		}
		if kind = b.kind(f.Node()); kind == "" {
			return out, false
		}
		over(&out.ID, string(f.ID))
		over(&out.Title, f.Title)
		over(&out.Weight, (*float64)(f.Weight))
		over(&out.Threshold, (*float64)(f.Threshold))
		if f.Not == nil {
			break
		}
		if f.Not.Turned || kind == "not" {
			out.Not = !out.Not
		}
		if kind != "not" {
			break
		}
		f = f.Not.Check
	}
	if !b.keysSound(f.Node().Get(kind)) {
		return out, false
	}
	subject := b.fillKind(kind, f, &out)
	if out.ID == "" {
		out.ID = b.name(group, kind, subject, out.Not)
	}
	out.Any, out.All = b.list(f.Any, out.ID), b.list(f.All, out.ID)
	return out, true
}

// kind is the one key that says what a check wants; empty means that it was
// reported. A check without one may be another one, turned around.
func (b *checkBuild) kind(at *strictyaml.Node) string {
	var kinds []string
	for _, key := range checkKinds() {
		if at.Field(key) != nil {
			kinds = append(kinds, key)
		}
	}
	if not := at.Get("not"); not != nil && not.Kind == strictyaml.Map {
		kinds = append(kinds, "not")
	}
	switch len(kinds) {
	case 0:
		b.report(at.Pos, "the check wants nothing", "give it one of "+strings.Join(checkKinds(), ", "))
		return ""
	case 1:
		return kinds[0]
	}
	b.report(at.Place(kinds[1]), fmt.Sprintf("a check has %s or %s, not both", kinds[0], kinds[1]), "one list item for each check")
	return ""
}

// fillKind fills what a kind of check wants, and returns what it is about, to be
// part of its name.
func (b *checkBuild) fillKind(kind string, f *checkFile, out *eval.Check) string {
	at := f.Node().Get(kind)
	switch kind {
	case "equals":
		out.Text = b.textCheck(f.Equals)
		out.Text.Equals = &f.Equals.Text
	case "contains":
		out.Text = b.textCheck(f.Contains)
		out.Text.Contains = &f.Contains.Text
		b.filledText(inForm(at, "text"), kind)
	case "regex":
		out.Text = &eval.TextCheck{In: eval.Place(f.Regex.In), Regex: f.Regex.Pattern}
		b.filledText(inForm(at, "pattern"), kind)
		b.regex(inForm(at, "pattern"))
	case "json":
		out.JSON = b.jsonCheck(f.JSON)
		return strings.TrimSpace(f.JSON.Tool + " " + f.JSON.Path)
	case "called":
		out.Called = b.calledCheck(f.Called)
		return f.Called.Tool
	case "not_called":
		p := b.pattern(&f.NotCalled.callFile, at)
		out.NotCalled = &p
		return p.Tool
	case "rejected":
		out.Rejected = b.rejectedCheck(f.Rejected)
		return f.Rejected.Tool
	case "trajectory":
		out.Trajectory = b.trajectoryCheck(f.Trajectory, out)
	case "no_repeats":
		out.NoRepeats = &eval.RepeatsCheck{Tool: f.NoRepeats.Tool, Max: int(f.NoRepeats.Max)}
		b.toolName(at.Get("tool"))
		return f.NoRepeats.Tool
	case "at_most":
		out.AtMost = b.atMostCheck(f.AtMost)
	case "no_sensitive_data":
		out.NoSecrets = b.sensitiveCheck(f.NoSensitiveData)
	case "verify":
		out.Verify = b.verifyCheck(f.Verify)
		return f.Verify.Call
	case "scorer":
		out.Scorer = b.scorerCheck(f.Scorer)
	case "judge":
		if b.undecided[at] {
			out.Text = &eval.TextCheck{Sentence: true, Contains: &f.Judge.Rubric}
			break
		}
		out.Judge = b.judgeCheck(f.Judge)
	case "any", "all":
		if len(at.Items) == 0 && b.sound(at) {
			b.report(at.Pos, "the group has no checks", "")
		}
	}
	return ""
}

// inForm is the value of a key where a map says more, else the value itself.
func inForm(n *strictyaml.Node, key string) *strictyaml.Node {
	if n.Kind == strictyaml.Map {
		return n.Get(key)
	}
	return n
}

// maxCheckName bounds generated names of checks, in characters.
const maxCheckName = 80

// name makes the id of a check: what it is, and a number if that is taken.
func (b *checkBuild) name(group, kind, subject string, not bool) string {
	// A placeholder is shown by its name: an id is the same in all variants.
	subject = strings.NewReplacer("{{", "", "}}", "").Replace(subject)
	name := strings.TrimSpace(kind + " " + strings.Join(strings.Fields(subject), " "))
	if not {
		name = "not " + name
	}
	if group != "" {
		name = group + "/" + name
	}
	if r := []rune(name); len(r) > maxCheckName {
		name = string(r[:maxCheckName-1]) + "…"
	}
	id := name
	for i := 2; b.ids[strings.ToLower(id)]; i++ {
		id = fmt.Sprintf("%s %d", name, i)
	}
	b.ids[strings.ToLower(id)] = true
	return id
}
