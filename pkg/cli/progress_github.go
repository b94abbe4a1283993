package cli

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
)

// maxAnnotations is how many errors GitHub shows of one step; it drops the rest.
const maxAnnotations = 10

// annotation is the workflow command that makes GitHub Actions show a failure
// beside the job. See "Workflow commands for GitHub Actions" in its docs.
func annotation(f Finished) string {
	title := fmt.Sprintf("%s: %s", f.Verdict, trialName(f.Case, f.Variant, f.Repeat))
	text := explain(f)
	if f.TraceURL != "" {
		text += "\n" + address(f.TraceURL)
	}
	return fmt.Sprintf("::error title=%s::%s", escapeProperty(title), escapeData(defuse(text)))
}

// annotateRules shows the rules that failed beside the job, in one of GitHub Actions.
func (c *command) annotateRules(s eval.Summary) {
	if !switchedOn(c.env.Lookup, "GITHUB_ACTIONS") {
		return
	}
	shown := 0
	for _, r := range s.Rules {
		if r.Decision != eval.DecisionFail || r.Waived || shown == maxAnnotations {
			continue
		}
		shown++
		title, message := report.Line("gate: "+r.Title, 200), report.Line(r.Message, 1000)
		fmt.Fprintf(c.env.Stderr, "::error title=%s::%s\n", escapeProperty(defuse(title)), escapeData(defuse(message)))
	}
}

// escapeData escapes the text of a workflow command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes the value of a workflow command's property.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// defuse breaks the older form of a workflow command, ##[name], which the runner
// obeys anywhere in a line. The newer form, ::name::, counts only at the start
// of a line, and every line of ours starts with the time of day.
func defuse(s string) string { return strings.ReplaceAll(s, "##[", "## [") }
