package farmfile

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// build turns a decoded file into a [File], and checks that it makes sense.
type build struct {
	out *File
	all []strictyaml.Problem
	// dir is the folder that paths count from; empty leaves them.
	dir string
}

func (b *build) report(pos strictyaml.Pos, message, hint string) {
	b.all = append(b.all, pos.Problem(message, hint))
}

func (b *build) file(f *farmFile) {
	b.values(f.Node())
	b.servers(f)
	b.schedules(f)
	b.tenants(f)
	b.named(f)
	b.commands(f)
	b.tokens(f)
	named := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		entry := f.Providers[name]
		at := entry.Node()
		if at.Kind != strictyaml.Map {
			continue // reported
		}
		p := b.provider(name, &entry)
		b.out.Providers = append(b.out.Providers, p)
		if p.Provider == "" || p.BaseURL == "" && at.Field("base_url") != nil {
			continue // reported
		}
		key := string(p.Provider) + " " + eval.Address(p.Provider, p.BaseURL)
		if before, twice := named[key]; twice {
			b.report(f.Node().Place("providers", name), "two entries are for the same provider and address", fmt.Sprintf("the other one is %q", before))
		}
		named[key] = name
	}
}

// values are the texts of the settings, which decoding has checked.
func (b *build) values(at *strictyaml.Node) {
	b.out.Values = map[string]Value{}
	for _, s := range Settings() {
		n := at.Get(strings.Split(s.Name, ".")...)
		if !s.InFile || n == nil || n.Bad {
			continue
		}
		text := n.Text
		if n.Kind == strictyaml.List {
			var items []string
			for _, item := range n.Items {
				items = append(items, item.Text)
			}
			text = strings.Join(items, ",")
		}
		if s.Path && b.dir != "" && !filepath.IsAbs(text) && !strings.Contains(text, "://") && !secretRE.MatchString(text) {
			text = filepath.Join(b.dir, text)
		}
		b.out.Values[s.Name] = Value{Text: text, Written: fmt.Sprintf("%s:%d:%d", n.File(), n.Line, n.Column)}
	}
}

// servers that are registered. A worker on another machine has not the folder of
// this file, nor that of a suite, so paths are whole.
func (b *build) servers(f *farmFile) {
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		entry := f.Servers[name]
		at := entry.Node()
		if name == "" {
			b.report(f.Node().Place("servers", name), "a server has a name", "suites use it as registered: NAME")
		}
		if at.Kind != strictyaml.Map {
			continue // reported
		}
		b.all = append(b.all, entry.Problems()...)
		if n := at.Get("cwd"); n != nil && !n.Bad && !filepath.IsAbs(entry.Cwd) {
			b.report(n.Pos, "the working directory of a registered server is an absolute path", "workers on other machines start it")
		}
		if entry.Image == "" && len(entry.Command) > 0 && strings.ContainsRune(entry.Command[0], filepath.Separator) && !filepath.IsAbs(entry.Command[0]) {
			b.report(at.Get("command").Items[0].Pos, "the program of a registered server is a name on PATH or an absolute path", "workers on other machines start it")
		}
		for _, m := range entry.Mounts {
			if n := m.Node().Get("source"); n != nil && !n.Bad && m.Source != "" && !filepath.IsAbs(m.Source) {
				b.report(n.Pos, "the source of a mount of a registered server is an absolute path", "workers on other machines mount it")
			}
		}
		if b.out.Servers == nil {
			b.out.Servers = map[string]eval.Server{}
		}
		b.out.Servers[name] = entry.Server()
	}
}

func (b *build) provider(name string, f *entryFile) Provider {
	at := f.Node()
	p := Provider{
		Name: name, Provider: eval.Provider(f.Provider), BaseURL: f.BaseURL, APIKeys: f.APIKeys, Rate: f.Rate.Rate(),
	}
	if at.Field("provider") == nil {
		p.Provider = eval.Provider(name)
		if !slices.Contains(f.Provider.Choices(), name) {
			p.Provider = ""
			b.report(at.Pos, `missing key "provider"`, "one of "+strings.Join(f.Provider.Choices(), ", ")+", as the name is none of them")
		}
	}
	if n := at.Get("base_url"); n != nil && n.Kind == strictyaml.String && !n.Bad {
		b.all = append(b.all, suite.BaseURLProblems(n)...)
	}
	if n := at.Get("api_keys"); n != nil && n.Kind == strictyaml.List {
		b.all = append(b.all, suite.KeyProblems(n)...)
	}
	for _, model := range slices.SortedFunc(maps.Keys(f.Models), sooner) {
		entry := f.Models[model]
		p.Models = append(p.Models, b.model(model, &entry, at.Place("models", model)))
	}
	return p
}

func (b *build) model(name string, f *entryModelFile, pos strictyaml.Pos) Model {
	at := f.Node()
	if name == "" {
		b.report(pos, "a model has a name", "* stands for all models")
	}
	if at.Kind == strictyaml.Map && len(at.Fields) == 0 {
		b.report(at.Pos, "the model has neither rate nor price", "leave it out")
	}
	m := Model{Name: name, Rate: f.Rate.Rate()}
	if m.Rate != nil && isGlob(name) {
		m.Rate.Pool = name
	}
	m.Price, m.PriceOverride = f.Price.Price("farm")
	return m
}

// sooner orders the names of models as they are looked at.
func sooner(a, b string) int {
	return cmp.Or(
		cmp.Compare(strings.Count(a, "*"), 0)-cmp.Compare(strings.Count(b, "*"), 0),
		cmp.Compare(len(b), len(a)),
		cmp.Compare(a, b),
	)
}
