package suite

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A Capability is a name that a worker claims.
type Capability string

const capabilityPattern = `^[a-z0-9][a-z0-9-]{0,31}$`

// UnmarshalNode decodes a name that can be that of a capability.
func (c *Capability) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*string)(c))
	if (n.Kind == strictyaml.String || n.Loose) && !eval.IsCapability(string(*c)) {
		d.Report(n.Pos, strictyaml.Quote(string(*c))+" is no capability", "up to 32 lower-case letters, digits and dashes, such as gpu")
	}
}

func capabilities(cs []Capability) []string {
	var out []string
	for _, c := range cs {
		out = append(out, string(c))
	}
	return out
}

// requires is what a worker must have for a case in a variant.
func requires(s *eval.Suite, c eval.Case, v eval.Variant) (string, error) {
	required := append([]string{}, c.Requires...)
	servers := c.Servers
	if len(servers) == 0 {
		servers = []string{c.Server}
		if c.Server == "" {
			servers[0] = v.Axes[eval.AxisServer]
		}
	}
	for _, name := range servers {
		required = append(required, s.Servers[name].Requires...)
	}
	text := eval.JoinCapabilities(required...)
	if len(text) > eval.MaxRequires {
		return "", fmt.Errorf("case %s requires more than fits: %s has %d characters of %d", c.ID, text, len(text), eval.MaxRequires)
	}
	return text, nil
}
