package farmfile

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// What those may do who use the farm over its API.

type (
	tokenHash  string
	tokenScope string
)

const hashPattern = `^[0-9a-f]{64}$`

func (tokenHash) Pattern() string { return hashPattern }

// The scopes of tokens.
const (
	scopeWorker = "worker"
	scopeRead   = "read"
	scopeRun    = "run"
)

func (tokenScope) Choices() []string { return []string{scopeWorker, scopeRead, scopeRun} }

func (h *tokenHash) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	text := plain(d, n, "the sha256 of a token, as 64 hex digits")
	if text != "" && (len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "") {
		d.Report(n.Pos, "this is no sha256 of a token", "64 hex digits; evalfarm token NAME makes a token and prints it")
		return
	}
	*h = tokenHash(text)
}

// commands that are registered. Workers on other machines run them.
func (b *build) commands(f *farmFile) {
	for _, name := range slices.Sorted(maps.Keys(f.Commands)) {
		words := f.Commands[name]
		at := f.Node().Get("commands", name)
		if at.Kind != strictyaml.List {
			continue // reported
		}
		if len(words) == 0 {
			b.report(at.Pos, "the command is empty", "a list: the program and its arguments")
			continue
		}
		if p := string(words[0]); strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
			b.report(at.Items[0].Pos, "the program of a registered command is a name on PATH or an absolute path", "workers on other machines start it")
		}
		command := make([]string, len(words))
		for i, w := range words {
			if strings.Contains(string(w), "{{") {
				b.report(at.Items[i].Pos, "a registered command is exact: {{ stands for what a sender would say", "leave it out")
			}
			command[i] = string(w)
		}
		b.out.Commands = append(b.out.Commands, command)
	}
}

// tokens of the API. Each is one of its own, or nobody could take one back alone.
func (b *build) tokens(f *farmFile) {
	hashes := map[tokenHash]string{}
	for _, name := range slices.Sorted(maps.Keys(f.Tokens)) {
		t := f.Tokens[name]
		at := t.Node()
		if at.Kind != strictyaml.Map {
			continue // reported
		}
		if before, twice := hashes[t.SHA256]; twice && t.SHA256 != "" {
			b.report(at.Place("sha256"), "two tokens are the same", "the other one is "+strictyaml.Quote(before))
		}
		hashes[t.SHA256] = name
		if !TenantName(name) {
			b.report(f.Node().Place("tokens", name), strictyaml.Quote(name)+" is no name", "letters, digits, . _ and -, at most 64 of them")
		}
		if n := at.Get("tenant"); n != nil && !n.Bad {
			switch {
			case !TenantName(string(t.Tenant)):
				b.report(n.Pos, strictyaml.Quote(string(t.Tenant))+" is no name of a tenant", "letters, digits, . _ and -, at most 64 of them")
			case t.Scope == scopeWorker:
				b.report(at.Place("tenant"), "a worker works for all tenants", "leave it out")
			}
		}
		b.out.Tokens = append(b.out.Tokens, Token{Name: name, SHA256: string(t.SHA256), Scope: string(t.Scope), Tenant: string(t.Tenant)})
	}
}
