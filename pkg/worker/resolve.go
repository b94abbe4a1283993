package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
)

// A setting is a server with every reference resolved.
type setting struct {
	spec      client.Spec
	isolation eval.Isolation
}

// key names all that makes two trials able to share a session.
func (s setting) key() string {
	sum := sha256.Sum256(eval.Encode(s.spec))
	return hex.EncodeToString(sum[:])
}

// A place is a trial's: what its variant chooses, and the secrets that it has
// been given.
type place struct {
	w *Worker
	p *plan
	t eval.Trial
	c eval.Case
	// points that the variant chooses, in the order of the axes.
	points []eval.Point
	// chosen holds the variables of the points.
	chosen map[string]eval.JSON
	// broken is why a server that is not under test gave no answer, if one did.
	broken eval.Reason
	// found holds every secret that went into a server or a model.
	found map[string]string
	// uid of the attempt, and what it may spend.
	uid   string
	purse *meter.Purse
}

func (w *Worker) place(p *plan, t eval.Trial, c eval.Case, claim jobs.Claim) *place {
	at := &place{w: w, p: p, t: t, c: c, chosen: map[string]eval.JSON{}, found: map[string]string{}, uid: claim.UID}
	bound := claim.Job.Hold
	if bound.MicroUSD == 0 && p.snap.Grading == nil {
		bound.MicroUSD = c.Limits.CostMicroUSD // a limit of the trial's own, without a budget
	}
	at.purse = meter.NewPurse(bound)
	for _, axis := range p.snap.Axes {
		value, used := t.Variant.Axes[axis.Name]
		if !used {
			continue
		}
		at.chosen["axis."+axis.Name] = eval.Encode(value)
		for _, point := range axis.Points {
			if point.Value == value {
				at.points = append(at.points, point)
				maps.Copy(at.chosen, point.Vars)
			}
		}
	}
	return at
}

// lookup gives the variables of the case.
func (at *place) lookup(name string) (eval.JSON, bool) {
	if v, ok := at.c.Vars[name]; ok {
		return v, true
	}
	v, ok := at.chosen[name]
	return v, ok
}

// redactor takes out every secret that was found so far.
func (at *place) redactor() *redact.Redactor { return redact.New(at.found) }

// server names the server of a case that talks to one.
func (at *place) server() string {
	if at.c.Server != "" {
		return at.c.Server
	}
	return at.t.Variant.Axes[eval.AxisServer]
}

// setting resolves a server.
func (at *place) setting(name string) (setting, *refusal) {
	server, ok := at.p.snap.Servers[name]
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
	for _, point := range at.points {
		maps.Copy(env, point.Env)
		maps.Copy(headers, point.Headers)
	}
	server.Env, server.Headers = env, headers

	s := secrets{lookup: at.w.opts.Secret, found: map[string]string{}}
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
	maps.Copy(at.found, s.found)
	isolation := server.Isolation
	if isolation == "" {
		isolation = eval.IsolationShared
		if at.c.Kind == eval.KindAgent {
			isolation = eval.IsolationTrial
		}
	}
	return setting{
		spec: client.Spec{
			Name: name, Server: server, Dir: at.p.snap.Dir, Run: at.t.Run, Attempt: at.uid, Protocol: at.t.Variant.Axes[eval.AxisProtocol],
			Profile: at.t.Variant.Axes[eval.AxisProfile], Redact: redact.New(s.found),
		},
		isolation: isolation,
	}, nil
}

// A refusal says why a trial cannot be started here.
type refusal struct {
	reason  eval.Reason
	message string
}

// record of an attempt that was refused: another one here would find the same.
func (r *refusal) record(of eval.Record) eval.Record {
	of = failed(of, r.reason, r.message)
	of.Outcome = eval.AttemptDone
	return of
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
