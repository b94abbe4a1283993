package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

// TestDocsHoldEveryCommand keeps docs/cli.md equal to what --help says.
func TestDocsHoldEveryCommand(t *testing.T) {
	c := &command{env: Env{Stdout: io.Discard, Stderr: io.Discard}}
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page is made of what `--help` says, by `make update`.\n\n")
	b.WriteString("Standard output is the answer, standard error is progress and logs. RUN is the id of a run, a unique prefix of one, `latest`,\n`latest~N` for the N-th before it, `last-green` or `baseline:NAME`; [baselines.md](baselines.md#names-of-runs) has them all.\n")
	root := c.root()
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && cmd.Name() != "help" && cmd.Name() != "completion" {
			describe(&b, cmd)
		}
	}
	fmt.Fprintf(&b, "\n## Every command\n\n```text\n%s```\n", root.PersistentFlags().FlagUsages())
	b.WriteString("\n## Environment\n\nWhat is a flag or a key of the farm file too is in [farmfile.md](farmfile.md#settings), with its default.\n\n| variable | meaning |\n|---|---|\n")
	for _, s := range farmfile.Settings() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.Variable, s.Meaning)
	}
	b.WriteString("| `OTEL_*` | [where traces and metrics go](observability.md#where-traces-go); nowhere without one |\n")
	b.WriteString("| `TRACEPARENT` | the W3C trace context of what starts a run, which the run's trace is linked to |\n")
	b.WriteString("| `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE` | colours, when `--color` is auto |\n")
	b.WriteString("| `NAME`, `NAME_FILE` | the value of `${{ secrets.NAME }}`, or the file that holds it |\n")

	const path = "../../docs/cli.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/cli.md is not what --help says; run make update (-docs +help):\n%s", diff)
	}
}

func describe(b *strings.Builder, cmd *cobra.Command) {
	before := strings.TrimSuffix(cmd.CommandPath(), cmd.Name())
	fmt.Fprintf(b, "\n## %s%s\n\n%s.\n", strings.TrimPrefix(before, "evalfarm "), cmd.Name(), strings.TrimSuffix(cmd.Short, "."))
	if cmd.Long != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(cmd.Long))
	}
	if cmd.Runnable() {
		fmt.Fprintf(b, "\n```text\n%s%s\n", before, cmd.Use)
		if cmd.LocalFlags().HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s", cmd.LocalFlags().FlagUsages())
		}
		b.WriteString("```\n")
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimRight(cmd.Example, "\n"))
	}
	for _, sub := range cmd.Commands() {
		describe(b, sub)
	}
}
