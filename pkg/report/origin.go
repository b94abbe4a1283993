package report

import "github.com/evalfarm/evalfarm/pkg/eval"

// took is how long a run took, in milliseconds. How long an import took says nothing
// of it.
func took(s eval.Summary) float64 {
	if s.Origin != nil {
		return 0
	}
	return float64(s.Finished.Sub(s.Started).Microseconds()) / 1000
}

// origin says of a run that was imported where it comes from.
func (p *page) origin(o *eval.Origin) {
	if o != nil {
		p.line(p.indent(2), text("imported").pad(9), textf("%s  %s  sha256 %.12s", o.File, o.Format, o.SHA256))
	}
}
