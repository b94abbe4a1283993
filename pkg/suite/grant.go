package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A Grant is what an operator lets a suite use that somebody else has sent, beside
// the servers in [Options.Registered]. Such a suite brings no program and no address
// of its own, and has no secrets.
type Grant struct {
	// Model says whether models are called where this one is. Scripted models are
	// called nowhere.
	Model func(eval.Model) bool
	// Commands that scorers and verify checks may run, with their arguments.
	Commands [][]string
}

// grantedServer refuses a server that is not registered.
func (b *build) grantedServer(name string, f *serverFile) {
	if b.opts.Grant == nil || f.Node().Field("registered") != nil {
		return
	}
	b.report(b.file.Node().Place("servers", name), fmt.Sprintf("server %s is not registered, and a suite that is sent brings none of its own", strictyaml.Quote(name)),
		fmt.Sprintf("register it in the scheduler's farm.yaml: servers: {%s: …}, and write %s: {registered: %s} here", name, name, name))
}

// grantedModel refuses a model at an address that is not registered, and what is the
// operator's to say of one that is.
func (b *build) grantedModel(name string, f *modelFile, m eval.Model) {
	if b.opts.Grant == nil || m.Provider == eval.ProviderScripted || m.Provider == "" {
		return
	}
	at := f.Node()
	for _, key := range []string{"api_key", "api_keys", "headers", "price"} {
		if at.Field(key) != nil {
			b.report(at.Place(key), key+" is the operator's to say: the suite is sent", "leave it out; the scheduler's farm.yaml has it under providers")
		}
	}
	if b.opts.Grant.Model == nil || !b.opts.Grant.Model(m) {
		entry := string(m.Provider)
		if m.BaseURL != "" {
			entry = fmt.Sprintf("%s: {provider: %s, base_url: %s}", name, m.Provider, m.BaseURL)
		} else {
			entry += ": {}"
		}
		b.report(b.file.Node().Place("models", name), fmt.Sprintf("the provider of model %s is not registered, and a suite that is sent calls no other", strictyaml.Quote(name)),
			"register it in the scheduler's farm.yaml: providers: {"+entry+"}")
	}
}

// grantedPoint refuses a value of an axis that would change what a registered server
// is.
func (b *build) grantedPoint(p *pointFile) {
	for _, key := range []string{"env", "headers"} {
		if b.opts.Grant != nil && p.Node().Field(key) != nil {
			b.report(p.Node().Place(key), key+" is the operator's to say: the suite is sent", "register a server for each value in the scheduler's farm.yaml, and let an axis server choose")
		}
	}
}

// grantedCommand refuses a program that is not registered with these arguments, and
// an environment that would make another one of it.
func (b *checkBuild) grantedCommand(at *strictyaml.Node, words []string) {
	if b.opts.Grant == nil || at.Field("command") == nil {
		return
	}
	if at.Field("env") != nil {
		b.report(at.Place("env"), "env is the operator's to say: the suite is sent", "")
	}
	if !slices.ContainsFunc(b.opts.Grant.Commands, func(c []string) bool { return slices.Equal(c, words) }) {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = strictyaml.Quote(w)
		}
		b.report(at.Place("command"), "the command is not registered, and a suite that is sent brings none of its own",
			"register it in the scheduler's farm.yaml: commands: {NAME: ["+strings.Join(quoted, ", ")+"]}")
	}
}
