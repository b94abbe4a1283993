package farmfile

import (
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// capabilities are a list in the file, and names with commas between in the
// environment.
type capabilities []suite.Capability

func (c *capabilities) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind == strictyaml.String && n.Loose {
		for name := range strings.SplitSeq(n.Text, ",") {
			var one suite.Capability
			d.Decode(&strictyaml.Node{Pos: n.Pos, Kind: strictyaml.String, Text: name, Loose: true}, &one)
			*c = append(*c, one)
		}
		return
	}
	d.Decode(n, (*[]suite.Capability)(c))
}
