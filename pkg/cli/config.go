package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// configure is the command about settings; config is what compositions are given.
func (c *command) configure() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Explain the settings of a farm, and check its file",
		Long: `Say which settings hold for a farm and who said so, or check a farm file. Of
what is said of a setting, the flag goes before the environment, the environment
before the farm file, and the file before the default.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.configExplain(), c.configCheck())
	return cmd
}

func (c *command) configExplain() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Say what holds for each setting, and where it comes from",
		Long: `Print each setting with its value and its origin: a flag, a variable of the
environment, a place in the farm file, or the default. With KEY, say all of that
setting, or of a group such as log. Passwords and tokens are not shown.

The flags of scheduler and worker can be given too, to see what would hold.`,
		Example: `  evalfarm config explain
  evalfarm config explain slots
  evalfarm config explain --slots 8 --json`,
		Args: args(0, 1, "at most one key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.warnStrangers()
			all, err := c.explained(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if all, err = named(all, args[0]); err != nil {
					return err
				}
			}
			switch {
			case asJSON:
				enc := json.NewEncoder(c.env.Stdout)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(map[string]any{"settings": all})
			case len(args) == 1:
				for i, e := range all {
					if i > 0 {
						c.print("\n")
					}
					c.printExplained(e)
				}
				return nil
			}
			w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
			for _, e := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, report.Line(e.shown(), 200), report.Line(e.where(), 200))
			}
			return w.Flush()
		},
	}
	for _, s := range farmfile.Settings() {
		if s.Flag != "" && !everywhere(s) {
			cmd.Flags().String(s.Flag, "", s.Meaning)
		}
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// everywhere says whether all commands have the flag of a setting.
func everywhere(s farmfile.Setting) bool {
	return s.Name == "config" || s.Name == "store" || s.Name == "server_url" || strings.HasPrefix(s.Name, "log.")
}

// An explained setting is what holds, who said so, and what it goes before.
type explained struct {
	Name string `json:"name"`
	// Value is null where nothing holds but a default in words.
	Value *string `json:"value"`
	From  origin  `json:"from"`
	Where string  `json:"where,omitempty"`
	// Instead are the values that this one goes before.
	Instead  []instead `json:"instead_of,omitempty"`
	Default  string    `json:"default,omitempty"`
	Flag     string    `json:"flag,omitempty"`
	Variable string    `json:"variable"`
	InFile   bool      `json:"in_file"`
	Meaning  string    `json:"meaning"`
}

type instead struct {
	Value string `json:"value"`
	From  origin `json:"from"`
	Where string `json:"where"`
}

// shown is the value in a line.
func (e explained) shown() string {
	switch {
	case e.Value != nil:
		return *e.Value
	case e.Default != "":
		return "(" + e.Default + ")"
	}
	return "-"
}

func (e explained) where() string { return cmp.Or(e.Where, string(e.From)) }

// explained is every setting as it holds for the flags of a command.
func (c *command) explained(cmd *cobra.Command) ([]explained, error) {
	farm, err := c.farm()
	if err != nil {
		return nil, err
	}
	var out []explained
	for _, s := range farmfile.Settings() {
		e := explained{
			Name: s.Name, From: originDefault, Default: s.Default, Variable: s.Variable, InFile: s.InFile, Meaning: s.Meaning,
		}
		if s.Flag != "" {
			e.Flag = "--" + s.Flag
		}
		all := c.statements(s, cmd.Flags().Lookup(s.Flag), farm)
		for i, v := range all {
			if err := v.check(s); err != nil {
				return nil, err
			}
			text := farmfile.Mask(v.Text)
			if s.Secret {
				text = "***"
			}
			if i == 0 {
				e.Value, e.From, e.Where = &text, v.From, v.Where
			} else {
				e.Instead = append(e.Instead, instead{text, v.From, v.Where})
			}
		}
		if text := c.found(s.Name); e.Value == nil && text != "" {
			e.Value = &text
		}
		out = append(out, e)
	}
	return out, nil
}

// found is what is there where nobody has said where to look.
func (c *command) found(name string) string {
	switch name {
	case "home":
		return c.env.Home()
	case "config":
		return c.loaded.path
	case "store":
		return filepath.ToSlash(c.config().StorePath())
	}
	return ""
}

// named keeps the settings of a name or a group.
func named(all []explained, key string) ([]explained, error) {
	var out []explained
	var names []string
	for _, e := range all {
		if e.Name == key || strings.HasPrefix(e.Name, key+".") || e.Variable == key || e.Flag == key {
			out = append(out, e)
		}
		names = append(names, e.Name)
	}
	if len(out) > 0 {
		return out, nil
	}
	hint := strictyaml.DidYouMean(key, names)
	if hint == "" {
		hint = "settings: " + strings.Join(names, ", ")
	}
	return nil, usage(hint, "no setting is called %q", key)
}

// printExplained says all of one setting.
func (c *command) printExplained(e explained) {
	c.print("%s\n  %s\n", e.Name, e.Meaning)
	w := tabwriter.NewWriter(c.env.Stdout, 2, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  value\t%s\n  from\t%s\n", report.Line(e.shown(), 200), report.Line(e.where(), 200))
	for _, i := range e.Instead {
		fmt.Fprintf(w, "  instead of\t%s (%s)\n", report.Line(i.Value, 200), report.Line(i.Where, 200))
	}
	if e.Flag != "" {
		fmt.Fprintf(w, "  flag\t%s\n", e.Flag)
	}
	fmt.Fprintf(w, "  variable\t%s\n", e.Variable)
	if e.InFile {
		fmt.Fprintf(w, "  key\t%s\n", e.Name)
	}
	if e.Default != "" {
		fmt.Fprintf(w, "  default\t%s\n", e.Default)
	}
	_ = w.Flush() // a reader that went away is no error
}

func (c *command) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a farm file; nothing is started",
		Long: `Check a farm file and show every mistake at once, with its position. Without
FILE it is the one that the other commands would read. Nothing is started, and no
secret is looked for.`,
		Args: args(0, 1, "at most one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			var f *farmfile.File
			var err error
			var path string
			if len(args) == 1 {
				path = args[0]
				if f, err = c.loadFarm(c.env.abs(path), ""); err == nil {
					c.problems(f.Warnings)
				}
			} else if f, err = c.farm(); err == nil {
				path = c.loaded.path
			}
			switch {
			case err != nil:
				return err
			case f == nil:
				return usage("evalfarm config check FILE", "there is no farm.yaml here, and none in the state folder")
			}
			c.print("ok  %s  %s, %s, %s\n", path, plural(len(f.Values), "setting"), plural(len(f.Servers), "server"), plural(len(f.Providers), "provider"))
			return nil
		},
	}
}
