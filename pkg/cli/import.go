package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/intake"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

var commitName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func (c *command) imports() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Store runs that were carried out elsewhere",
		Long: `Store the results of runs that were carried out elsewhere. An imported run is
read, reported and compared like any other that is done. It cannot be resumed,
tried again or judged.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(c.importJSONL())
	return cmd
}

func (c *command) importJSONL() *cobra.Command {
	var f importing
	cmd := &cobra.Command{
		Use:   "jsonl FILE",
		Short: "Store a finished run from a file of JSON lines",
		Long: `Store a finished run from a file of JSON lines, an object for each trial, and
print what it comes to. FILE is - for standard input; one that ends in .gz is
unpacked.

A line has a case, and a score (1 is a pass, less is a fail) or a verdict. --map
says where a file has them under other names, with dots for nested ones. What
evalfarm report -o jsonl writes needs no map. docs/import.md has every field.

Exit code 0: the run is stored, whatever its verdict. Exit code 2: the file has a
mistake, and nothing is stored.`,
		Example: `  evalfarm import jsonl results.jsonl --map case=task_id,repeat=trial,score=reward
  evalfarm import jsonl results.jsonl --map case=id,score=info.score,axes.model=model,cost_usd=cost
  evalfarm report latest -o jsonl=- | evalfarm import jsonl - --suite again`,
		Args: args(1, 1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.importFile(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.pairs, "map", nil, "read our fields from those of the file: `OURS=THEIRS,…` (repeatable)")
	flags.StringVar(&f.suite, "suite", "", "`NAME` of the suite that the run is of (default: that of the file)")
	flags.StringVar(&f.commit, "git-commit", "", "the `COMMIT` that was evaluated")
	flags.StringArrayVarP(&f.outputs, "output", "o", nil, "also write a report: `FORMAT[=PATH]` with junit, json or jsonl; PATH - is standard output")
	flags.BoolVar(&f.json, "json", false, "print the summary as one JSON document")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "only the verdict")
	return cmd
}

// importing holds the flags of an import.
type importing struct {
	pairs         []string
	suite, commit string
	outputs       []string
	json, quiet   bool
}

// options are what the flags say of how to read a file.
func (f *importing) options(path string) (intake.Options, error) {
	o := intake.Options{File: path, Suite: f.suite, Version: version()}
	var err error
	o.Map, err = intake.ParseMap(f.pairs)
	if bad, ok := errors.AsType[*intake.MapError](err); ok {
		return o, usage(bad.Hint, "--map: %s", bad.Message)
	}
	if o.Suite == "" {
		o.Suite = strings.TrimSuffix(filepath.Base(path), ".gz")
		o.Suite = strings.TrimSuffix(o.Suite, filepath.Ext(o.Suite))
		if path == "-" {
			o.Suite = "stdin"
		}
	}
	unprintable := strings.ContainsFunc(o.Suite, func(r rune) bool { return !unicode.IsPrint(r) })
	if o.Suite == "" || len(o.Suite) > 200 || unprintable {
		return o, usage("--suite NAME, of at most 200 characters", "%s is no name for a suite", strictyaml.Quote(o.Suite))
	}
	if f.commit != "" {
		if !commitName.MatchString(f.commit) {
			return o, usage("7 to 64 hexadecimal digits", "--git-commit: %s is no commit", strictyaml.Quote(f.commit))
		}
		o.Git = &eval.Git{Commit: f.commit}
	}
	return o, nil
}

func (c *command) importFile(ctx context.Context, path string, f importing) error {
	outputs, err := parseOutputs(f.outputs, f.json)
	if err != nil {
		return err
	}
	o, err := f.options(path)
	if err != nil {
		return err
	}
	return c.withStore(ctx, func(s store.Store) error {
		from := path
		if path != "-" {
			from = c.env.abs(path)
		}
		in, err := intake.Open(from, c.env.Home(), c.env.Stdin)
		if err != nil {
			return usage("", "import: %s", err)
		}
		defer in.Close()
		run, err := intake.Read(ctx, in, o)
		if bad, ok := errors.AsType[*intake.ProblemError](err); ok {
			return &suite.ProblemsError{Problems: []strictyaml.Problem{bad.Problem}}
		}
		if err != nil {
			return err
		}
		if len(run.Unread) > 0 {
			fmt.Fprintf(c.env.Stderr, "fields that are not read: %s\n", report.Line(strings.Join(run.Unread, ", "), 400))
		}
		summary, err := scheduler.Import(ctx, s, scheduler.Foreign{
			Snapshot: run.Snapshot, Blobs: run.Cases,
			Each: func(fn func(eval.Record) error) error { return run.Each(ctx, fn) },
		})
		if err != nil {
			return fmt.Errorf("%w; the same import goes on where it stopped", err)
		}
		err = c.conclude(ctx, outputs, f.quiet, here{s, c}, summary)
		if _, failed := errors.AsType[*codeError](err); failed {
			return nil // a failed run is imported all the same
		}
		return err
	})
}
