package suite

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// servers of the suite, with what the command line puts in their place.
func (b *build) servers() {
	b.suite.Servers = map[string]eval.Server{}
	for name, f := range b.file.Servers {
		b.suite.Servers[name] = b.server(&f)
		b.grantedServer(name, &f)
	}
	given := map[string]bool{}
	for _, text := range b.opts.Servers {
		given[b.override(text)] = true
	}
	for _, name := range sorted(b.file.Servers) {
		if f := b.file.Servers[name]; !given[name] && b.sound(f.Node()) {
			b.checkServer(&f)
		}
	}
	if d := b.file.Defaults; d != nil && d.Server != "" {
		if _, ok := b.suite.Servers[d.Server]; !ok {
			b.unknownName(d.Node().Get("server").Pos, "server", d.Server, sorted(b.suite.Servers))
		}
	}
}

func (b *build) server(f *serverFile) eval.Server {
	if f.Node().Field("registered") != nil {
		return b.registered(f)
	}
	out := f.Server()
	out.Dir = b.cwd(f)
	for i := range f.Mounts {
		out.Container.Mounts[i].Source = b.source(&f.Mounts[i])
	}
	return out
}

// Server is the noun of a server that has no problems. Its working directory and the
// sources of its mounts are as they are written.
func (f *endpointFile) Server() eval.Server {
	return eval.Server{
		Command: f.Command, URL: f.URL, Transport: eval.Transport(f.Transport), Headers: f.Headers, Env: f.Env,
		Dir: f.Cwd, Revision: f.Revision,
		StartTimeout: f.StartTimeout.std(), CallTimeout: f.CallTimeout.std(), CloseTimeout: f.CloseTimeout.std(),
		Isolation: eval.Isolation(f.Isolation), UnderTest: f.UnderTest, Requires: capabilities(f.Requires),
		Container: f.container(),
	}
}

// cwd is the working directory of a server, relative to the folder of the
// suite, whichever file says it.
func (b *build) cwd(f *serverFile) string {
	n := f.Node().Get("cwd")
	if n == nil || f.Cwd == "" {
		return ""
	}
	o, ok := b.refer(n, f.Cwd)
	if !ok {
		return ""
	}
	abs := filepath.Join(o.project.dir, filepath.FromSlash(o.name))
	if !exists(abs) {
		b.report(n.Pos, "no such folder: "+strictyaml.Quote(f.Cwd), "cwd is relative to the file that holds it")
	}
	rel, err := filepath.Rel(b.loaded.Dir, abs)
	if err != nil {
		return abs
	}
	return filepath.ToSlash(rel)
}

// checkServer finds keys that do not go together.
func (b *build) checkServer(f *serverFile) {
	if f.Node().Field("registered") != nil {
		b.checkRegistered(f)
		return
	}
	b.all = append(b.all, f.Problems()...)
}

// Problems finds keys that do not go together.
func (f *endpointFile) Problems() []strictyaml.Problem {
	at := f.Node()
	var p problems
	switch command, address := at.Field("command"), at.Field("url"); {
	case command == nil && address == nil && f.Image == "":
		p.report(at.Pos, "a server needs a command, an image or a url", "")
		return p.all
	case command != nil && address != nil:
		p.report(address.Key.Pos, "a server has a command or a url, not both", "")
		return p.all
	case f.Image != "" && address != nil:
		p.report(address.Key.Pos, "a server has an image or a url, not both", "a server in a container speaks over its standard streams")
		return p.all
	case command != nil && (len(f.Command) == 0 || f.Command[0] == ""):
		p.report(command.Value.Pos, "the command is empty", "a list: the program and its arguments")
	case address != nil:
		if message, hint := badURL(f.URL); message != "" {
			p.report(address.Value.Pos, message, hint)
		}
	}
	others, what := []string{"transport", "headers"}, "url"
	if at.Field("url") != nil {
		others, what = []string{"env", "cwd"}, "command"
	} else if f.Image != "" && at.Field("cwd") != nil {
		p.report(at.Place("cwd"), "cwd is for servers without an image", "the working directory in a container is what its image says")
	}
	for _, key := range others {
		if at.Field(key) != nil {
			p.report(at.Place(key), fmt.Sprintf("%s is for servers with a %s", key, what), "")
		}
	}
	p.inContainer(f)
	return p.all
}

// namedRE matches NAME=VALUE.
var namedRE = regexp.MustCompile(`^([A-Za-z0-9_.-]+)=(.*)$`)

// override puts a --server value in the place of what a server runs, and
// returns the server's name.
func (b *build) override(text string) string {
	pos := strictyaml.Pos{}
	name, value := "", text
	if m := namedRE.FindStringSubmatch(text); m != nil {
		name, value = m[1], m[2]
	}
	fail := func(message, hint string) string {
		p := pos.Problem(message, hint)
		p.File = "--server " + text
		b.all = append(b.all, p)
		return name
	}
	if name == "" {
		var ok bool
		if name, ok = b.defaultServer(); !ok {
			return fail("the suite has several servers and no default", "write --server NAME=VALUE with one of "+strings.Join(sorted(b.file.Servers), ", "))
		}
	}
	old, declared := b.suite.Servers[name]
	if declaredNames := sorted(b.file.Servers); !declared && len(declaredNames) > 0 && !b.asked(name) {
		hint := strictyaml.DidYouMean(name, declaredNames)
		if hint == "" {
			hint = "declared: " + strings.Join(declaredNames, ", ")
		}
		return fail("the suite has no server "+strictyaml.Quote(name), hint)
	}
	server := eval.Server{
		StartTimeout: old.StartTimeout, CallTimeout: old.CallTimeout, CloseTimeout: old.CloseTimeout,
		Isolation: old.Isolation, UnderTest: old.UnderTest, Requires: old.Requires,
	}
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		server.URL, server.Transport, server.Headers = value, old.Transport, old.Headers
		if u, err := url.Parse(value); err != nil || u.Host == "" {
			return fail("this is no address of a server", "http:// or https://, a host and a path")
		}
	} else {
		words, err := splitWords(value)
		if err != nil {
			return fail(err.Error(), "")
		}
		if len(words) == 0 {
			return fail("the command is empty", "--server takes a URL or a command")
		}
		server.Command, server.Env, server.Dir = words, old.Env, b.opts.Dir
	}
	b.suite.Servers[name] = server
	return name
}

// asked says whether a case of a file in the format of others asks for a server,
// which such a file cannot declare.
func (b *build) asked(name string) bool {
	return slices.ContainsFunc(b.file.Cases, func(f caseFile) bool {
		return b.data[f.Node().File()] && slices.Contains(f.Servers, name)
	})
}

// defaultServer is the name of the server that cases talk to when they name
// none; ok is false when the suite leaves it open.
func (b *build) defaultServer() (name string, ok bool) {
	if d := b.file.Defaults; d != nil && d.Server != "" {
		return d.Server, true
	}
	names := sorted(b.file.Servers)
	if len(names) == 0 {
		names = sorted(b.suite.Servers)
	}
	switch len(names) {
	case 0:
		return "default", true
	case 1:
		return names[0], true
	}
	return "", false
}

// std is the duration as the standard library has it.
func (t duration) std() time.Duration { return time.Duration(t) }
