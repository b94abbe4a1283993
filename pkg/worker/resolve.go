package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// A setting is what a trial runs in: a server with every reference resolved,
// and the variables of the case.
type setting struct {
	spec      client.Spec
	isolation eval.Isolation
	lookup    vars.Lookup
	// secrets that went into the server, for redaction.
	secrets *redact.Redactor
}

// key names all that makes two trials able to share a session.
func (s setting) key() string {
	sum := sha256.Sum256(eval.Encode(s.spec))
	return hex.EncodeToString(sum[:])
}

// setting resolves the server and the variables of a trial.
func (w *Worker) setting(p *plan, t eval.Trial, c eval.Case) (setting, *refusal) {
	name := c.Server
	if name == "" {
		name = t.Variant.Axes[eval.AxisServer]
	}
	server, ok := p.snap.Servers[name]
	if !ok {
		return setting{}, &refusal{eval.ReasonFarm, fmt.Sprintf("the snapshot has no server %q", name)}
	}
	env, headers := maps.Clone(server.Env), maps.Clone(server.Headers)
	if env == nil {
		env = map[string]string{}
	}
	if headers == nil {
		headers = map[string]string{}
	}
	chosen := map[string]eval.JSON{}
	for _, axis := range p.snap.Axes {
		value, used := t.Variant.Axes[axis.Name]
		if !used {
			continue
		}
		chosen["axis."+axis.Name] = eval.Encode(value)
		for _, point := range axis.Points {
			if point.Value == value {
				maps.Copy(env, point.Env)
				maps.Copy(headers, point.Headers)
				maps.Copy(chosen, point.Vars)
			}
		}
	}
	server.Env, server.Headers = env, headers

	s := secrets{lookup: w.opts.Secret, found: map[string]string{}}
	server.URL = s.resolve(server.URL)
	server.Dir = s.resolve(server.Dir)
	server.Command = append([]string(nil), server.Command...)
	for i, word := range server.Command {
		server.Command[i] = s.resolve(word)
	}
	for _, m := range []map[string]string{env, headers} {
		for k, v := range m {
			m[k] = s.resolve(v)
		}
	}
	if s.err != nil {
		return setting{}, &refusal{eval.ReasonSecretMissing, s.err.Error()}
	}
	secret := redact.New(s.found)
	isolation := server.Isolation
	if isolation == "" {
		isolation = eval.IsolationShared
	}
	return setting{
		spec: client.Spec{
			Name: name, Server: server, Dir: p.snap.Dir,
			Protocol: t.Variant.Axes[eval.AxisProtocol], Profile: t.Variant.Axes[eval.AxisProfile], Redact: secret,
		},
		isolation: isolation,
		lookup: func(name string) (eval.JSON, bool) {
			if v, ok := c.Vars[name]; ok {
				return v, true
			}
			v, ok := chosen[name]
			return v, ok
		},
		secrets: secret,
	}, nil
}

// A refusal says why a trial cannot be started here.
type refusal struct {
	reason  eval.Reason
	message string
}

// secretRE finds references to secrets as the loader leaves them.
var secretRE = regexp.MustCompile(`\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// secrets resolves references and remembers what it found.
type secrets struct {
	lookup func(string) (string, error)
	found  map[string]string
	err    error // of the last one that could not be had
}

func (s *secrets) resolve(text string) string {
	return secretRE.ReplaceAllStringFunc(text, func(ref string) string {
		name := secretRE.FindStringSubmatch(ref)[1]
		value, err := s.lookup(name)
		if err != nil {
			s.err = err
			return ref
		}
		s.found[name] = value
		return value
	})
}
