package suite

import (
	"cmp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// registered is a server that the farm's operator has described. How long things
// may take and who shares a session is the suite's to say; what runs is not.
func (b *build) registered(f *serverFile) eval.Server {
	out := b.opts.Registered[f.Registered] // the zero value is reported
	out.Registered = f.Registered
	out.StartTimeout = cmp.Or(f.StartTimeout.std(), out.StartTimeout)
	out.CallTimeout = cmp.Or(f.CallTimeout.std(), out.CallTimeout)
	out.CloseTimeout = cmp.Or(f.CloseTimeout.std(), out.CloseTimeout)
	out.Isolation = cmp.Or(eval.Isolation(f.Isolation), out.Isolation)
	if f.Node().Field("under_test") != nil {
		out.UnderTest = f.UnderTest
	}
	return out
}

// checkRegistered finds a name that nobody has registered, and keys that would
// change what the operator has described.
func (b *build) checkRegistered(f *serverFile) {
	at := f.Node()
	for _, key := range endpointKeys() {
		if at.Field(key) != nil {
			b.report(at.Place(key), key+" is the operator's to say: the server is registered", "leave it out, or describe a server of your own without registered")
		}
	}
	if _, ok := b.opts.Registered[f.Registered]; ok || b.opts.lenient || b.opts.AnyRegistered {
		return
	}
	names := sorted(b.opts.Registered)
	hint := strictyaml.DidYouMean(f.Registered, names)
	switch {
	case hint != "":
	case len(names) == 0:
		hint = "the farm has none: they stand under servers in farm.yaml"
	default:
		hint = "registered: " + strings.Join(names, ", ")
	}
	b.report(at.Get("registered").Pos, "no server is registered as "+strictyaml.Quote(f.Registered), hint)
}

// endpointKeys are those that say what a server is.
func endpointKeys() []string {
	return []string{"command", "url", "transport", "headers", "env", "cwd", "revision", "image", "mounts", "network", "memory", "cpus", "user", "pull", "requires"}
}
