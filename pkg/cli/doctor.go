package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/doctor"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/report"
)

// examining holds the flags of doctor.
type examining struct {
	noServers, online, json bool
}

func (c *command) doctor() *cobra.Command {
	var f examining
	cmd := &cobra.Command{
		Use:   "doctor [scheduler|worker]",
		Short: "Look at what a farm needs, and say what to do",
		Long: `Look at the Redis, the clock, the store, the state folder, the disk, open files,
the token, addresses, the collector of traces, registered servers and keys of
providers, and say of each whether it is ok, a warning or a problem, and what to
do. With scheduler or worker, only at what that part needs on this machine.
Nothing is changed.

Registered servers are started, and list their tools, unless --no-servers. Keys
are looked for and never shown; only with --online is each provider asked for its
list of models, which costs nothing.

The exit code is 3 if there is a problem, else 0. A farm file or a variable that
is wrong is 2, as everywhere.`,
		Example: `  evalfarm doctor
  evalfarm doctor worker --online
  evalfarm doctor scheduler --no-servers --json`,
		Args: func(cmd *cobra.Command, got []string) error {
			if len(got) == 1 && got[0] != doctor.PartScheduler && got[0] != doctor.PartWorker {
				return usage("parts: scheduler, worker", "%s knows no part %q", cmd.CommandPath(), got[0])
			}
			return args(0, 1, "at most one part")(cmd, got)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			part := ""
			if len(args) == 1 {
				part = args[0]
			}
			c.warnStrangers()
			o, found, err := c.patient(cmd, part, f)
			if err != nil {
				return err
			}
			return c.diagnose(append(found, doctor.Examine(cmd.Context(), o)...), f.json)
		},
	}
	for _, name := range []string{"redis", "listen", "blobs", "spool", "token_file", "slots"} {
		if s, ok := farmfile.Find(name); ok {
			cmd.Flags().String(s.Flag, "", s.Meaning)
		}
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.noServers, "no-servers", false, "start no server; only look for its program and secrets")
	flags.BoolVar(&f.online, "online", false, "ask each provider for its list of models, with each key")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	return cmd
}

// patient is what is to be looked at, by the settings as they hold. What cannot be
// looked at is found already.
func (c *command) patient(cmd *cobra.Command, part string, f examining) (doctor.Options, []doctor.Finding, error) {
	farm, err := c.farm()
	if err != nil {
		return doctor.Options{}, nil, err
	}
	values := map[string]string{}
	var found []doctor.Finding
	for _, s := range farmfile.Settings() {
		all := c.statements(s, cmd.Flags().Lookup(s.Flag), farm)
		if len(all) == 0 || s.Name == "config" || s.Name == "home" || s.Name == "store" && part == doctor.PartWorker {
			continue
		}
		if err := all[0].check(s); err != nil {
			return doctor.Options{}, nil, err
		}
		text, err := c.reveal(all[0])
		if err != nil {
			found = append(found, doctor.Finding{Check: s.Name, Level: doctor.Problem, Message: err.Error(), Advice: "set the secret where this is used"})
			continue
		}
		values[s.Name] = text
	}
	if values["store"] != "" {
		c.store = values["store"]
	}
	conf := c.config()
	slots, _ := strconv.Atoi(values["slots"]) // was checked; none is zero
	o := doctor.Options{
		Part: part, Redis: values["redis"], Home: conf.Home, Token: c.peekToken(cmd, farm, values), Slots: defaultSlots(slots), Version: version(),
		Secret: conf.Secret, LookPath: exec.LookPath, Online: f.online, Environ: conf.Environ,
		HTTP: &http.Client{
			Timeout:       15 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would take the key elsewhere
		},
	}
	for _, f := range found {
		o.Skip = append(o.Skip, f.Check)
	}
	if part != doctor.PartWorker {
		standard, _ := farmfile.Find("listen")
		o.Store, o.Listen = conf.StorePath(), cmp.Or(values["listen"], standard.Default)
	}
	if part == doctor.PartScheduler {
		return o, found, nil
	}
	o.Spool = filepath.Join(conf.Home, "spool")
	if values["spool"] != "" {
		o.Spool = c.env.abs(values["spool"])
	}
	o.Blobs, o.Spawn = values["blobs"], part == ""
	if farm != nil {
		o.Servers, o.Providers = farm.Servers, providers(farm)
	}
	if !f.noServers {
		o.Opener = client.NewOpener(client.Options{Environ: conf.Environ, Self: conf.Self, GuardCommand: conf.Guard, Version: conf.Version, Logger: conf.Logger, ContainerEngine: c.env.engine(values["container_engine"])})
	}
	return o, found, nil
}

// providers are those of the farm file, with the names of their keys.
func providers(farm *farmfile.File) []doctor.Provider {
	var out []doctor.Provider
	for _, p := range farm.Providers {
		one := doctor.Provider{Name: p.Name, Provider: p.Provider, BaseURL: p.BaseURL}
		for _, key := range p.APIKeys {
			if m := secretRE.FindStringSubmatch(key); m != nil {
				one.Keys = append(one.Keys, m[1])
			}
		}
		out = append(out, one)
	}
	return out
}

// peekToken finds the farm's token as [command.token] does, and makes none.
func (c *command) peekToken(cmd *cobra.Command, farm *farmfile.File, values map[string]string) doctor.Token {
	file := values["token_file"]
	s, _ := farmfile.Find("token_file")
	if all := c.statements(s, cmd.Flags().Lookup(s.Flag), farm); len(all) > 0 && all[0].From == originFile && values["token"] != "" {
		file = "" // the environment goes before the file
	}
	if file == "" && values["token"] != "" {
		return doctor.Token{Look: true, Value: values["token"]}
	}
	if file != "" {
		value, err := c.token(file)
		return doctor.Token{Look: true, Value: value, File: c.env.abs(file), Err: err}
	}
	path := filepath.Join(c.env.Home(), app.TokenFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return doctor.Token{Look: true}
	}
	return doctor.Token{Look: true, Value: strings.TrimSpace(string(content)), File: path, Err: err}
}

// diagnose prints what was found, and turns a problem into an exit code.
func (c *command) diagnose(found []doctor.Finding, asJSON bool) error {
	count := map[doctor.Level]int{}
	for _, f := range found {
		count[f.Level]++
	}
	if asJSON {
		enc := json.NewEncoder(c.env.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(map[string]any{"findings": found, "problems": count[doctor.Problem], "warnings": count[doctor.Warning]})
		if err != nil {
			return fmt.Errorf("print what was found: %w", err)
		}
	} else {
		w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
		for _, f := range found {
			level := string(f.Level)
			if f.Level == doctor.OK {
				level = "OK"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", level, report.Line(f.Check, 40), report.Line(f.Message, 300))
			if f.Level != doctor.OK && f.Advice != "" {
				fmt.Fprintf(w, "\t\t→ %s\n", report.Line(f.Advice, 300))
			}
		}
		_ = w.Flush() // a reader that went away is no error
		c.print("%s, %s\n", plural(count[doctor.Problem], "problem"), plural(count[doctor.Warning], "warning"))
	}
	if count[doctor.Problem] > 0 {
		return &codeError{eval.ExitInfra}
	}
	return nil
}
