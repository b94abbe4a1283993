package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/mcp/catalog"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// loading holds the flags that complete a suite file.
type loading struct {
	with    string
	servers []string
	set     []string
	// gate is the path of a policy that replaces the suite's gate.
	gate string
	// baseline is what the gate compares with in place of what it names.
	baseline string
	// asked collects the variables of the environment that a suite refers to, if it is
	// to be sent to a farm.
	asked map[string]string
}

func (f *loading) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.with, "with", "", "complete the suite from this `FILE` of servers, axes, limits and defaults")
	flags.StringArrayVar(&f.servers, "server", nil, "default server, as a URL or a command; or `NAME=VALUE` for a named one")
	flags.StringArrayVar(&f.set, "set", nil, "set a suite variable: `NAME=VALUE`")
}

// addGate adds the flag of a policy.
func (f *loading) addGate(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.gate, "gate", "", "decide by the rules in this `FILE`, in the place of the suite's gate")
}

// load finds and loads a suite.
func (c *command) load(arg string, f loading) (*suite.Loaded, error) {
	path, err := c.findSuite(arg)
	if err != nil {
		return nil, err
	}
	o := suite.Options{
		Servers: f.servers, Baseline: f.baseline, Dir: c.env.Dir, Base: c.env.Dir, LookupEnv: c.env.Lookup,
		Rules: catalog.Rules(), Profiles: client.Profiles(),
	}
	farm, err := c.farm()
	if err != nil {
		return nil, err
	}
	switch {
	case f.asked != nil: // what is registered is known there
		o.AnyRegistered = true
		o.LookupEnv = func(name string) (string, bool) {
			value, ok := c.env.Lookup(name)
			if ok {
				f.asked[name] = value
			}
			return value, ok
		}
	case farm != nil:
		o.Registered = farm.Servers
	}
	if f.with != "" {
		o.With = c.env.abs(f.with)
	}
	if f.gate != "" {
		o.Gate = c.env.abs(f.gate)
	}
	if o.Set, err = variables(f.set); err != nil {
		return nil, err
	}
	loaded, err := suite.Load(path, o)
	if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
		problems.Path = arg // as it was given
		return nil, problems
	}
	if err != nil {
		return nil, usage("", "%s", err)
	}
	c.problems(loaded.Warnings)
	return loaded, nil
}

// variables are what --set says.
func variables(set []string) (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usage("", "--set %s: want NAME=VALUE", kv)
		}
		out[name] = value
	}
	return out, nil
}

// findSuite takes a path, or the name of a suite under ./suites.
func (c *command) findSuite(arg string) (string, error) {
	path := c.env.abs(arg)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	root := filepath.Join(c.env.Dir, "suites")
	found, err := suite.Find(root)
	if err != nil || len(found) == 0 {
		return "", usage("", "no suite at %s, and none under %s", arg, "./suites")
	}
	var names []string
	for _, s := range found {
		if s.Name == arg {
			return s.Path, nil
		}
		names = append(names, s.Name)
		if rel, err := filepath.Rel(c.env.Dir, filepath.Dir(s.Path)); err == nil {
			names = append(names, rel)
		}
	}
	hint := "list them: evalfarm suites"
	if near := strictyaml.Closest(arg, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? list them: evalfarm suites", near)
	}
	return "", usage(hint, "no suite %q: no such file, and none of the %d suites under ./suites has that name", arg, len(found))
}

// executable refuses a suite that holds what this build cannot carry out.
func (c *command) executable(loaded *suite.Loaded) error {
	if len(loaded.Unsupported) == 0 {
		return nil
	}
	return &suite.ProblemsError{Problems: loaded.Unsupported}
}

// problems shows warnings on standard error.
func (c *command) problems(ps []strictyaml.Problem) {
	for _, p := range ps {
		fmt.Fprint(c.env.Stderr, p.Render())
	}
}
