package suite

import (
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// verifyCheck is a look at the outside state: by a step of a script, or by a
// command.
func (b *checkBuild) verifyCheck(f *verifyFile) *eval.VerifyCheck {
	at := f.Node()
	out := &eval.VerifyCheck{Server: f.Server, Command: f.Command, Env: f.Env, Timeout: f.Timeout.std()}
	if at.Field("command") == nil {
		if at.Field("call") == nil && at.Field("read") == nil {
			b.report(at.Pos, "the check looks at nothing", "give it a call, a read or a command")
			return out
		}
		for _, key := range []string{"env", "timeout"} {
			if at.Field(key) != nil {
				b.report(at.Place(key), key+" is for commands", "")
			}
		}
		if at.Field("extract") != nil {
			b.report(at.Place("extract"), "extract has no use here", "no step follows")
		}
		step := b.step(&f.actionFile, at, b.known)
		step.ID = "1"
		out.Step = &step
		b.verifiedServer(f)
		return out
	}
	for _, field := range at.Fields {
		if key := field.Key.Text; !slices.Contains([]string{"command", "env", "timeout"}, key) {
			b.report(field.Key.Pos, key+" and command do not go together", "a verify is a call, a read or a command")
		}
	}
	b.command(at.Get("command"))
	b.grantedCommand(at, f.Command)
	return out
}

// verifiedServer wants a server of the case, and a name where it has several.
func (b *checkBuild) verifiedServer(f *verifyFile) {
	n := f.Node().Get("server")
	servers := b.servedBy()
	switch {
	case n == nil && len(b.c.Servers) > 1:
		b.report(f.Node().Pos, "the case has several servers, and this names none", "write server: with one of "+strings.Join(servers, ", "))
	case n != nil && b.sound(n) && !slices.Contains(servers, f.Server):
		b.unknownName(n.Pos, "server", f.Server, servers)
	}
}

func (b *checkBuild) scorerCheck(f *scorerFile) *eval.ScorerCheck {
	b.command(f.Node().Get("command"))
	b.grantedCommand(f.Node(), f.Command)
	return &eval.ScorerCheck{Command: f.Command, Env: f.Env, Timeout: f.Timeout.std()}
}

// command wants a program.
func (b *checkBuild) command(n *strictyaml.Node) {
	if n == nil || !b.sound(n) {
		return
	}
	if len(n.Items) == 0 || n.Items[0].Text == "" {
		b.report(n.Pos, "the command is empty", "a list: the program and its arguments")
	}
}
