package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/price"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A loadedFarm is the outcome of looking for the farm file.
type loadedFarm struct {
	file *farmfile.File
	// path of the file as people know it; empty if there is none.
	path string
	// from is what said where it is.
	from statement
}

// farm reads the farm file, once: that of --config or $EVALFARM_CONFIG, else
// farm.yaml in the working directory or the state folder. Without one it is nil.
func (c *command) farm() (*farmfile.File, error) {
	if c.loaded == nil {
		found, err := c.findFarm()
		if err != nil {
			return nil, err
		}
		c.loaded = &found
		if found.file != nil {
			c.problems(found.file.Warnings)
		}
	}
	return c.loaded.file, nil
}

func (c *command) findFarm() (loadedFarm, error) {
	named, from := c.farmFile, statement{Text: c.farmFile, From: originFlag, Where: "--config"}
	if env, ok := c.env.Lookup("EVALFARM_CONFIG"); named == "" && ok {
		named, from = env, statement{Text: env, From: originEnvironment, Where: "$EVALFARM_CONFIG"}
	}
	candidates := []string{c.env.abs(named)}
	if named == "" {
		from = statement{From: originDefault}
		candidates = []string{c.env.abs("farm.yaml"), filepath.Join(c.env.Home(), "farm.yaml")}
	}
	for _, path := range candidates {
		f, err := c.loadFarm(path, from.Where)
		if errors.Is(err, os.ErrNotExist) && named == "" {
			continue
		}
		if err != nil {
			return loadedFarm{}, err
		}
		from.Text = path
		return loadedFarm{file: f, path: path, from: from}, nil
	}
	return loadedFarm{from: from}, nil
}

// loadFarm reads one farm file. The error is one to show, or that there is none.
func (c *command) loadFarm(path, where string) (*farmfile.File, error) {
	f, err := farmfile.Load(path, farmfile.Options{LookupEnv: c.env.Lookup, Base: c.env.Dir})
	if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
		return nil, problems
	}
	if err != nil {
		return nil, &usageError{message: fmt.Sprintf("%s: %s", cmp.Or(where, path), err), cause: err}
	}
	return f, nil
}

// furnish gives the models of a suite what the farm says of them, and their prices
// by the list, whose version it returns.
func (c *command) furnish(s *eval.Suite, farm *farmfile.File) (prices string, err error) {
	list, err := price.Load()
	if err != nil {
		return "", fmt.Errorf("load the price list: %w", err)
	}
	farm.Apply(s.Models)
	unknown := farmfile.Resolve(s.Models, list, time.Now())
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		m := s.Models[name]
		m.PriceHint = unknown[name].Error()
		s.Models[name] = m
	}
	return list.Version(), nil
}

// A ceiling is what the flags say of a budget.
type ceiling struct {
	usd    dollars
	tokens int64
	time   time.Duration
}

func (f *ceiling) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&f.usd, "budget-usd", "spend at most so many `DOLLARS`, judges and retries included")
	flags.Int64Var(&f.tokens, "budget-tokens", 0, "take at most so many tokens, in and out")
	flags.DurationVar(&f.time, "budget-time", 0, "begin nothing more after this time, from now on")
}

// budget of the flags; what they do not say is zero.
func (f *ceiling) budget() (eval.Budget, error) {
	if f.tokens < 0 || f.time < 0 {
		return eval.Budget{}, usage("", "--budget-tokens and --budget-time want something positive")
	}
	return eval.Budget{MicroUSD: int64(f.usd), Tokens: f.tokens, Time: f.time}, nil
}

// takeUp gives a run or a grading that is to go on the caps under which it does, as
// [scheduler.TakeUp]: the budget of the flags, and the day's cap of the farm file. how
// is the grading that is to come; nil, if trials are to run.
func (c *command) takeUp(ctx context.Context, s store.Store, run eval.Run, f ceiling, how *eval.Grading) (eval.Run, error) {
	more, err := f.budget()
	if err != nil {
		return run, err
	}
	day, err := c.microUSD("budgets.day_usd")
	if err != nil {
		return run, err
	}
	of := cmp.Or(run.Parent, run.ID)
	if owner, held := app.Locked(c.env.Home(), of); held { // it goes on under the caps that it has
		return run, locked(&app.LockedError{Run: of, Owner: owner})
	}
	return scheduler.TakeUp(ctx, s, run, more, day, how)
}

// dollars is a flag of money, in micro-dollars.
type dollars int64

func (d *dollars) String() string { return "" }

func (d *dollars) Type() string { return "DOLLARS" }

func (d *dollars) Set(text string) error {
	micro, err := price.Millionths(text)
	if _, digits, _ := strings.Cut(text, "."); err != nil || micro <= 0 || len(digits) > 6 {
		return errors.New("want dollars such as 1.50, with at most six digits after the point")
	}
	*d = dollars(micro)
	return nil
}
