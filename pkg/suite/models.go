package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// models of the suite, and the defaults that name one.
func (b *build) models() {
	for _, name := range sorted(b.file.Models) {
		f := b.file.Models[name]
		if b.suite.Models == nil {
			b.suite.Models = map[string]eval.Model{}
		}
		b.suite.Models[name] = b.model(&f)
		b.grantedModel(name, &f, b.suite.Models[name])
	}
	if d := b.file.Defaults; d != nil {
		b.knownModel(d.Node().Get("model"))
		b.knownModel(d.Node().Get("judge"))
	}
}

func (b *build) model(f *modelFile) eval.Model {
	at := f.Node()
	out := eval.Model{
		Provider: eval.Provider(f.Provider), Model: f.Model, BaseURL: f.BaseURL, APIKey: f.APIKey, APIKeys: f.APIKeys, Headers: f.Headers,
		Sampling: f.sampling(), CallTimeout: f.CallTimeout.std(), Identify: f.Identify, Script: f.Script,
		Policy: b.policy(at.Get("script")), Rate: f.Rate.Rate(),
	}
	out.Price, out.PriceOverride = f.Price.Price("suite")
	b.checkKeys(at)
	if b.keysSound(at) {
		b.checkModel(f)
	}
	return out
}

// checkModel finds keys that are missing, and keys that do not go together.
func (b *build) checkModel(f *modelFile) {
	at := f.Node()
	var needs string
	var useless, idle []string
	switch eval.Provider(f.Provider) {
	case eval.ProviderScripted:
		needs, useless = "script", []string{"base_url", "api_key", "api_keys", "headers", "identify", "call_timeout", "thinking"}
		idle = []string{"model", "temperature", "top_p", "max_output_tokens", "seed", "rate"}
		if at.Field("price") != nil { // it bounds what a call may cost
			idle = slices.DeleteFunc(idle, func(key string) bool { return key == "max_output_tokens" })
		}
	case eval.ProviderAnthropic:
		needs, useless, idle = "model", []string{"script"}, []string{"seed"}
	case eval.ProviderOpenAI:
		needs, useless = "model", []string{"script"}
	default:
		if at.Field("provider") == nil {
			b.report(at.Pos, `missing key "provider"`, "one of "+strings.Join(f.Provider.Choices(), ", "))
		}
		return // or it was reported
	}
	if n := at.Get(needs); n == nil || b.sound(n) && n.Text == "" {
		b.report(at.Pos, fmt.Sprintf("a model of the provider %s needs a %s", f.Provider, needs), "")
	}
	for _, key := range useless {
		if at.Field(key) != nil {
			b.report(at.Place(key), fmt.Sprintf("%s has no use in a model of the provider %s", key, f.Provider), "")
		}
	}
	for _, key := range idle {
		if at.Field(key) != nil {
			b.warn(at.Place(key), fmt.Sprintf("%s has no effect on a model of the provider %s", key, f.Provider), "")
		}
	}
	if how := f.Price; how != nil && b.sound(how.Node()) {
		_, override := how.Price("")
		if override != nil && override.Like == "" && eval.Provider(f.Provider) == eval.ProviderScripted {
			b.report(at.Place("price"), "a scripted model is in no price list", "give it input and output, or like")
		}
	}
	b.checkBudget(f)
	if n := at.Get("base_url"); n != nil && b.sound(n) {
		b.checkBase(n)
	}
}

// checkBudget looks at the number of tokens that a model may think with.
func (b *build) checkBudget(f *modelFile) {
	at := f.Node()
	n := at.Get("thinking", "budget_tokens")
	if n == nil || !b.sound(n) {
		return
	}
	switch eval.Provider(f.Provider) {
	case eval.ProviderOpenAI:
		b.warn(at.Place("thinking", "budget_tokens"), "budget_tokens has no effect on a model of the provider openai", "its API knows effort alone")
	case eval.ProviderAnthropic:
		if pos, message := overspent([]sampled{{at, f.sampling()}}); message != "" && f.MaxOutputTokens > 0 {
			b.report(pos, message, thinkingHint)
		}
	case eval.ProviderScripted: // refuses thinking as a whole
	}
}

// checkBase wants an address to put paths behind, without credentials.
func (b *build) checkBase(n *strictyaml.Node) {
	b.all = append(b.all, BaseURLProblems(n)...)
}

// checkKeys wants keys to be references, in one place.
func (b *build) checkKeys(at *strictyaml.Node) {
	if one := at.Get("api_key"); one != nil && b.sound(one) {
		b.all = append(b.all, KeyProblems(one)...)
	}
	several := at.Get("api_keys")
	if several == nil {
		return
	}
	if at.Field("api_key") != nil {
		b.report(at.Place("api_keys"), "api_keys and api_key do not go together", "one key, or several in its place")
	}
	if b.sound(several) {
		b.all = append(b.all, KeyProblems(several)...)
	}
}

// knownModel reports the name of a model that is not declared; nil is none.
func (b *build) knownModel(n *strictyaml.Node) {
	if n == nil || !b.sound(n) || !b.sound(b.file.Node().Get("models")) {
		return
	}
	if _, ok := b.file.Models[n.Text]; !ok && (!b.opts.lenient || len(b.file.Models) > 0) {
		b.unknownName(n.Pos, "model", n.Text, sorted(b.file.Models))
	}
}

// onlyModel is the name of the model of a suite that has one.
func (b *build) onlyModel() (string, bool) {
	names := sorted(b.file.Models)
	if len(names) != 1 {
		return "", false
	}
	return names[0], true
}

// modelOf is the model that an agent case asks. It is empty when a model axis
// decides.
func (b *build) modelOf(f *caseFile) string {
	if n := f.Node().Get("model"); n != nil {
		b.knownModel(n)
		return f.Model
	}
	if _, axis := b.file.Axes[eval.AxisModel]; axis {
		return ""
	}
	if d := b.file.Defaults; d != nil && d.Model != "" {
		return d.Model
	}
	if name, ok := b.onlyModel(); ok {
		return name
	}
	b.noModel(f)
	return ""
}

// noModel reports, once, that agent cases have no model.
func (b *build) noModel(f *caseFile) {
	if b.modelless || b.opts.lenient || !b.sound(b.file.Node().Get("models")) {
		return
	}
	b.modelless = true
	if len(b.file.Models) == 0 {
		hint := "write models: {NAME: {provider: …, model: …}}, or pass --with a file that has them"
		if b.data[f.Node().File()] {
			hint = "pass --with FILE, a suite file with models: {NAME: {provider: …, model: …}}"
		}
		b.report(f.Node().Pos, "there is no model to ask: the suite declares none", hint)
		return
	}
	b.report(f.Node().Pos, "the case names no model, and the suite has several",
		"write an axis model: […], or model: or defaults: {model: …}, with one of "+strings.Join(sorted(b.file.Models), ", "))
}

// roleModel is the model of a role that at asks for: the one that it names, the
// default of the role, or the only one.
func (b *build) roleModel(at *strictyaml.Node, otherwise, hint string) string {
	if n := at.Get("model"); n != nil {
		b.knownModel(n)
		return n.Text
	}
	if otherwise != "" {
		return otherwise
	}
	if name, ok := b.onlyModel(); ok {
		return name
	}
	if !b.opts.lenient && b.sound(b.file.Node().Get("models")) {
		message := "this names no model, and the suite has several"
		if len(b.file.Models) == 0 {
			message = "this needs a model, and the suite declares none"
		}
		b.report(at.Pos, message, hint)
	}
	return ""
}
