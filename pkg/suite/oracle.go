package suite

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// An Oracle is what a file of answers says of the scenarios of a fixture. No run
// sees it: stored trials are scored by it.
type Oracle struct {
	// Scenarios holds by scenario and metric the checks that decide the metric,
	// which must all pass.
	Scenarios map[string]map[string][]eval.Check
	// Warnings do not keep the oracle from being used.
	Warnings []strictyaml.Problem
}

// answersFile is the format of an oracle.
type answersFile struct {
	strictyaml.At
	Version   version                           `yaml:"version"`
	Scenarios map[string]map[string][]checkFile `yaml:"scenarios"`
}

// LoadOracle reads an oracle, whose name is shown in problems. It takes the bytes
// and not the file, so that what was hashed is what is read. The error is a
// [*ProblemsError].
func LoadOracle(name string, data []byte) (*Oracle, error) {
	l := &loader{broken: map[place]bool{}}
	out := &Oracle{Scenarios: map[string]map[string][]eval.Check{}}
	root, found := strictyaml.Parse(name, data)
	l.all = found
	if root != nil && !root.Bad {
		var file answersFile
		l.all = append(l.all, strictyaml.Decode(root, &file, strictyaml.Options{Free: freePrefix})...)
		l.breaks()
		b := &build{loader: l, file: &suiteFile{}, loaded: &Loaded{}, suite: &eval.Suite{}}
		b.answers(&file, out)
	}
	l.all = append(l.all, l.unsupported.all...)
	strictyaml.Sort(l.all)
	if l.failed() {
		return nil, &ProblemsError{Path: name, Problems: l.all}
	}
	out.Warnings = l.all
	return out, nil
}

// answers fills an oracle.
func (b *build) answers(f *answersFile, out *Oracle) {
	at := f.Node()
	if len(f.Scenarios) == 0 && b.sound(at) {
		b.report(at.Place("scenarios"), "the oracle has no scenarios", "")
	}
	for _, scenario := range sorted(f.Scenarios) {
		if n := at.Get("scenarios", scenario); len(f.Scenarios[scenario]) == 0 && b.sound(n) {
			b.report(n.Pos, "the scenario has no metrics", "leave it out: what an oracle does not have stays open")
		}
		out.Scenarios[scenario] = map[string][]eval.Check{}
		for _, metric := range sorted(f.Scenarios[scenario]) {
			list := at.Get("scenarios", scenario, metric)
			out.Scenarios[scenario][metric] = b.metric(list, f.Scenarios[scenario][metric])
		}
	}
}

// metric makes the checks that decide one metric.
func (b *build) metric(at *strictyaml.Node, files []checkFile) []eval.Check {
	known := &names{have: map[string]bool{}, used: map[string]bool{}, where: " in an oracle"}
	b.placeholders(at, known)
	b.storedOnly(files)
	made := checkBuild{build: b, c: &eval.Case{}, known: known, ids: map[string]bool{}}
	made.reserve(files)
	checks := made.list(files, "")
	if len(checks) == len(files) && b.sound(at) && !weighs(checks) {
		b.report(at.Pos, "no check decides the metric", "give it a check with a weight")
	}
	return checks
}

// weighs says whether any of the checks decides something.
func weighs(checks []eval.Check) bool {
	for _, c := range checks {
		if c.Weight == nil || *c.Weight > 0 {
			return true
		}
	}
	return false
}

// storedOnly refuses the checks that need more than what is stored of a trial:
// its servers have ended, and an oracle is read where there may be no models.
func (b *build) storedOnly(files []checkFile) {
	for i := range files {
		f := &files[i]
		at := f.Node()
		for _, kind := range []string{"verify", "scorer", "judge"} {
			if at.Field(kind) != nil {
				b.refuse(at.Place(kind), fmt.Sprintf("an oracle has no %s", kind), "it decides by what is stored of a trial: calls, results and what was said")
			}
		}
		if at.Field("trajectory") != nil && at.Get("trajectory", "calls") == nil {
			b.refuse(at.Place("trajectory"), "an oracle says itself which calls it expects", "give it calls")
		}
		if at.Get("at_most", "time") != nil {
			b.refuse(at.Place("at_most", "time"), "an oracle cannot bound the time", "how long a trial took, its waits left out, is not stored")
		}
		if at.Get("at_most", "cost_usd") != nil {
			b.refuse(at.Place("at_most", "cost_usd"), "an oracle cannot bound the cost", "a trial has none where no price is known")
		}
		b.storedOnly(f.Any)
		b.storedOnly(f.All)
		if f.Not != nil && f.Not.Check != nil {
			b.storedOnly([]checkFile{*f.Not.Check})
		}
	}
}

// refuse reports a key whose check is then not looked at any further.
func (b *build) refuse(pos strictyaml.Pos, message, hint string) {
	b.report(pos, message, hint)
	b.broken[placeOf(pos)] = true
}
