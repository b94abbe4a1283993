package report

import (
	"fmt"
	"io"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Calibration writes what a judge is worth, for a terminal.
func Calibration(w io.Writer, c eval.Calibration, o Options) error {
	p := newPage(o)
	p.line(styled(bold, "judge"), textf("  %d labelled items", c.Items))
	p.blank()
	p.line(p.indent(2), text("").pad(16), styled(dim, "judge passes").padLeft(14), styled(dim, "judge fails").padLeft(14))
	p.line(p.indent(2), text("humans pass").pad(16), textf("%d", c.TruePass).padLeft(14), textf("%d", c.FalseFail).padLeft(14))
	p.line(p.indent(2), text("humans fail").pad(16), textf("%d", c.FalsePass).padLeft(14), textf("%d", c.TrueFail).padLeft(14))
	p.blank()
	for _, row := range []struct {
		name string
		eval.Estimate
	}{
		{"sensitivity", c.Sensitivity},
		{"specificity", c.Specificity},
		{"agreement", c.Agreement},
		{"Cohen's kappa", c.Kappa},
		{"Gwet's AC1", c.AC1},
		{fmt.Sprintf("pass rate (n %d)", c.Judged), c.PassRate},
		{"corrected", c.Corrected},
		{"by the labels", c.Audited},
	} {
		p.line(p.indent(2), text(row.name).pad(20), text(estimate(row.Estimate)))
	}
	if c.VoteAlpha != nil {
		p.line(p.indent(2), text("votes").pad(20), textf("alpha %.3f, two of an item differ in %.1f %%", *c.VoteAlpha, 100**c.VoteDisagreement))
	}
	for _, warning := range c.Warnings {
		p.line(p.indent(2), styled(yellow, "~ "), text(warning))
	}
	return p.writeTo(w)
}

// estimate with its 95 % interval.
func estimate(e eval.Estimate) string {
	if e.Value == nil {
		return "none"
	}
	if e.Low == nil || e.High == nil {
		return fmt.Sprintf("%.3f", *e.Value)
	}
	return fmt.Sprintf("%.3f  [%.3f, %.3f]", *e.Value, *e.Low, *e.High)
}

// CalibrationJSON writes a calibration as one indented document.
func CalibrationJSON(w io.Writer, c eval.Calibration, _ Options) error {
	raw, err := encode(c, "  ")
	if err != nil {
		return fmt.Errorf("calibration as JSON: %w", err)
	}
	_, err = w.Write(raw)
	return err
}
