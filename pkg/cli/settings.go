package cli

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// An origin is where the value of a setting comes from.
type origin string

const (
	originFlag        origin = "flag"
	originEnvironment origin = "environment"
	originFile        origin = "file"
	originDefault     origin = "default"
)

// A statement is what one origin says of a setting.
type statement struct {
	Text string
	From origin
	// Where it is written: --slots, $EVALFARM_SLOTS or farm.yaml:3:8.
	Where string
}

// statements are all that is said of a setting, what holds first. Flag may be nil. What
// is empty in the environment is not said, as build servers and compose files
// leave out what they do not have.
func (c *command) statements(s farmfile.Setting, flag *pflag.Flag, farm *farmfile.File) []statement {
	var all []statement
	if flag != nil && flag.Changed {
		all = append(all, statement{flag.Value.String(), originFlag, "--" + s.Flag})
	}
	if v, ok := c.env.Lookup(s.Variable); ok && v != "" {
		all = append(all, statement{v, originEnvironment, "$" + s.Variable})
	}
	if farm != nil {
		if v, ok := farm.Values[s.Name]; ok {
			all = append(all, statement{v.Text, originFile, v.Written})
		}
	}
	return all
}

// check wants a value that is not the file's, which was checked with it, to be a
// good one.
func (s statement) check(of farmfile.Setting) error {
	if s.From == originFile {
		return nil
	}
	if _, err := of.Parse(s.Text); err != nil {
		return usage(of.Name+": "+of.Meaning, "%s: %s", strings.TrimPrefix(s.Where, "$"), err)
	}
	return nil
}

// settle fills the flags of a command that were not given from the environment and
// from the farm file.
func (c *command) settle(cmd *cobra.Command) error {
	if aloof(cmd) {
		return nil
	}
	c.warnStrangers()
	c.storeGiven = cmd.Flags().Changed("store")
	farm, err := c.farm()
	if err != nil {
		return err
	}
	for _, s := range farmfile.Settings() {
		flag := cmd.Flags().Lookup(s.Flag)
		if flag == nil || s.Name == "config" || s.Services && !service(cmd) || s.Name == "server_url" && service(cmd) ||
			s.Name == "store" && top(cmd).Name() == "worker" { // a worker has no store, and so not its password
			continue
		}
		all := c.statements(s, flag, farm)
		switch {
		case len(all) == 0:
			continue
		case all[0].From == originFlag && everywhere(s):
			if err := all[0].check(s); err != nil {
				return err
			}
			continue
		case all[0].From == originFlag:
			continue // its command checks it
		}
		if token, _ := c.env.Lookup("EVALFARM_TOKEN"); s.Name == "token_file" && all[0].From == originFile && token != "" {
			continue // the environment goes before the file
		}
		if err := all[0].check(s); err != nil {
			return err
		}
		text, err := c.reveal(all[0])
		if err != nil {
			return err
		}
		if err := flag.Value.Set(text); err != nil {
			return usage(s.Name+": "+s.Meaning, "%s: %s", strings.TrimPrefix(all[0].Where, "$"), err)
		}
	}
	if c.serverURL == "" {
		_, traces, err := c.value("telemetry.trace_url")
		c.traces = eval.TraceURL(traces.Text)
		return err
	}
	return nil
}

// aloof says whether a command has nothing to do with a farm: neither a store nor
// workers.
func aloof(cmd *cobra.Command) bool {
	return slices.Contains([]string{
		"demo", "stub", "validate", "waivers", "schema", "suites", "version", "exit-codes", "config", "doctor", "health", "token", "help", "completion",
		guardName, cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd,
	}, top(cmd).Name()) || cmd == cmd.Root()
}

// service says whether a command is a process of a farm.
func service(cmd *cobra.Command) bool {
	name := top(cmd).Name()
	return name == "scheduler" || name == "worker"
}

// top is the command right below the root.
func top(cmd *cobra.Command) *cobra.Command {
	for cmd.HasParent() && cmd.Parent() != cmd.Root() {
		cmd = cmd.Parent()
	}
	return cmd
}

// warnStrangers tells of variables that look like ours and mean nothing, once: a
// typo must not be silent.
func (c *command) warnStrangers() {
	if c.warned {
		return
	}
	c.warned = true
	for _, s := range farmfile.Strangers(c.env.Environ) {
		hint := "evalfarm config explain lists those that there are"
		if s.Meant != "" {
			hint = "did you mean " + s.Meant + "?"
		}
		fmt.Fprintf(c.env.Stderr, "warning: the environment variable %s means nothing to evalfarm; %s\n", s.Variable, hint)
	}
}

// value is what holds for a setting that has no flag.
func (c *command) value(name string) (farmfile.Setting, statement, error) {
	s, ok := farmfile.Find(name)
	if !ok {
		panic("no setting is called " + name)
	}
	farm, err := c.farm()
	if err != nil {
		return s, statement{}, err
	}
	all := c.statements(s, nil, farm)
	if len(all) == 0 {
		return s, statement{From: originDefault}, nil
	}
	return s, all[0], all[0].check(s)
}

// parsed is what a setting without a flag says, of the type of its form; the zero value
// if it says nothing.
func parsed[T any](c *command, name string) (T, error) {
	var zero T
	s, got, err := c.value(name)
	if err != nil || got.From == originDefault {
		return zero, err
	}
	v, err := s.Parse(got.Text)
	if err != nil {
		return zero, fmt.Errorf("read %s: %w", name, err)
	}
	return *v.(*T), nil
}

// microUSD is an amount of money that a setting says; 0 if it says nothing.
func (c *command) microUSD(name string) (int64, error) {
	amount, err := parsed[suite.Dollars](c, name)
	return int64(amount), err
}

// secretRE finds references to secrets in a value of the farm file.
var secretRE = regexp.MustCompile(`\$\{\{ secrets\.([A-Za-z_][A-Za-z0-9_]*) \}\}`)

// reveal puts secrets in the place of references to them. Inside a URL a secret is
// percent-encoded, as a password has to be.
func (c *command) reveal(s statement) (string, error) {
	if s.From != originFile {
		return s.Text, nil
	}
	var failed error
	text := secretRE.ReplaceAllStringFunc(s.Text, func(ref string) string {
		secret, err := c.config().Secret(secretRE.FindStringSubmatch(ref)[1])
		if err != nil {
			failed = fmt.Errorf("%s: %w", s.Where, err)
		}
		if ref == s.Text {
			return secret
		}
		return strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")
	})
	return text, failed
}
