package report

import "github.com/evalfarm/evalfarm/pkg/eval"

// origin says of a run that was imported where it comes from.
func (p *page) origin(o *eval.Origin) {
	if o != nil {
		p.line(p.indent(2), text("imported").pad(9), textf("%s  %s  sha256 %.12s", o.File, o.Format, o.SHA256))
	}
}
