package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/waiver"
)

func (c *command) waivers() *cobra.Command {
	var f waiving
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "waivers [SUITE|FILE]",
		Short: "List waivers, and sign them",
		Long: `List the waivers of a suite, or of all suites under ./suites: whether each holds,
soon expires, has expired, or is not approved by anybody. A file of waivers may be
given in the place of its suite, with --allowed-signers.

A waiver takes a case, or a rule, out of the gate until it expires. It is approved
by an SSH signature of its text, or by being on the branch that the gate calls
protected.`,
		Example: `  evalfarm waivers suites/support-desk --within 14d
  evalfarm waivers text 1 suites/support-desk | ssh-keygen -Y sign -n evalfarm-waiver -f ~/.ssh/id_ed25519
  evalfarm waivers sign 1 suites/support-desk --key ~/.ssh/id_ed25519`,
		Args: args(0, 1, "one suite or file at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			within := time.Duration(-1)
			if f.within != "" {
				var err error
				if within, err = parseAge("--within", f.within); err != nil {
					return err
				}
			}
			sources, err := c.waiverSources(args, f)
			if err != nil {
				return err
			}
			listed := []listedWaiver{}
			now := time.Now()
			for _, loaded := range sources {
				for _, w := range listWaivers(loaded, authority(cmd.Context(), loaded), now) {
					if within < 0 || w.State != waiverHolds || w.Expires.Sub(now) <= within {
						listed = append(listed, w)
					}
				}
			}
			if asJSON {
				return c.encode(listed)
			}
			c.printWaivers(listed, now)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.within, "within", "", "only those that expire within this `TIME`, such as 14d, or do not hold")
	flags.BoolVar(&asJSON, "json", false, "print one JSON document")
	flags.StringVar(&f.signers, "allowed-signers", "", "the `FILE` of those who may sign, for a file of waivers")
	f.add(cmd)
	cmd.AddCommand(c.waiverText(), c.waiverSign())
	return cmd
}

// waiving holds the flags of waivers.
type waiving struct {
	loading
	within, signers string
}

func (c *command) waiverText() *cobra.Command {
	var f waiving
	cmd := &cobra.Command{
		Use:   "text N [SUITE|FILE]",
		Short: "Print what is to be signed of waiver N",
		Args:  args(1, 2, "the number of a waiver, and a suite or file"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := c.textOf(args, f)
			if err != nil {
				return err
			}
			c.print("%s", text)
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

func (c *command) waiverSign() *cobra.Command {
	var f waiving
	var key string
	cmd := &cobra.Command{
		Use:   "sign N [SUITE|FILE] --key FILE",
		Short: "Sign waiver N with ssh-keygen, and print what to put into the file",
		Long: `Show the text of a waiver, sign it with ssh-keygen and print the signature as it
is to be put into the file of waivers, which is left as it is. The key is a private
key, or the public one of a key that ssh-agent has.`,
		Args: args(1, 2, "the number of a waiver, and a suite or file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if key == "" {
				return usage("--key ~/.ssh/id_ed25519", "sign wants the key to sign with")
			}
			text, err := c.textOf(args, f)
			if err != nil {
				return err
			}
			fmt.Fprint(c.env.Stderr, text)
			sign := exec.CommandContext(cmd.Context(), "ssh-keygen", "-q", "-Y", "sign", "-n", waiver.Namespace, "-f", c.env.abs(key))
			sign.Dir, sign.Env, sign.Stdin, sign.Stderr = c.env.Dir, c.env.Environ, strings.NewReader(text), c.env.Stderr
			out, err := sign.Output()
			if err != nil {
				return usage("evalfarm waivers text "+args[0]+" prints what is to be signed", "ssh-keygen did not sign: %s", err)
			}
			c.print("    signature: |\n")
			for line := range strings.Lines(string(out)) {
				c.print("      %s\n", strings.TrimSpace(line))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the `FILE` of the SSH key to sign with")
	f.add(cmd)
	return cmd
}

// textOf a waiver by its number, and where it is.
func (c *command) textOf(args []string, f waiving) (string, error) {
	sources, err := c.waiverSources(args[1:], f)
	if err != nil {
		return "", err
	}
	if len(sources) > 1 {
		return "", usage("evalfarm waivers text "+args[0]+" SUITE", "several suites have waivers: say which")
	}
	n, err := strconv.Atoi(args[0])
	file := sources[0].Waivers
	if err != nil || n < 1 || n > len(file.Waivers) {
		return "", usage("list them: evalfarm waivers", "no waiver %s: %s has %s", args[0], file.Name, plural(len(file.Waivers), "waiver"))
	}
	return waiver.Text(file.Suite, file.Waivers[n-1].Waiver), nil
}

// waiverSources finds files of waivers: that of a suite, the file itself, or those of
// all suites under ./suites. There is at least one.
func (c *command) waiverSources(args []string, f waiving) ([]*suite.Loaded, error) {
	if len(args) == 0 {
		found, err := suite.Find(filepath.Join(c.env.Dir, "suites"))
		if err != nil {
			return nil, usage("evalfarm waivers SUITE", "no suite was named, and none is under ./suites")
		}
		var out []*suite.Loaded
		for _, s := range found {
			loaded, err := c.load(s.Path, f.loading)
			if err != nil {
				return nil, err
			}
			if loaded.Waivers != nil {
				out = append(out, loaded)
			}
		}
		if len(out) == 0 {
			return nil, usage("gate: {waivers: FILE}", "no suite under ./suites has waivers")
		}
		return out, nil
	}
	if path := c.env.abs(args[0]); strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") {
		data, err := os.ReadFile(path)
		if err == nil && waiver.Looks(data) {
			loaded, err := c.bareWaivers(args[0], path, data, f.signers)
			return []*suite.Loaded{loaded}, err
		}
	}
	loaded, err := c.load(args[0], f.loading)
	if err != nil {
		return nil, err
	}
	if loaded.Waivers == nil {
		return nil, usage("gate: {waivers: FILE}", "suite %s has no waivers", loaded.Suite.Name)
	}
	return []*suite.Loaded{loaded}, nil
}

// bareWaivers are a file of waivers without its suite.
func (c *command) bareWaivers(arg, path string, data []byte, signers string) (*suite.Loaded, error) {
	file, problems := waiver.Parse(suite.Short(c.env.Dir, path), data)
	if file == nil {
		return nil, &suite.ProblemsError{Path: arg, Problems: problems}
	}
	loaded := &suite.Loaded{Waivers: file, WaiverPath: path}
	if signers == "" {
		return loaded, nil
	}
	text, err := os.ReadFile(c.env.abs(signers))
	if err != nil {
		return nil, usage("", "%s", err)
	}
	loaded.Signers, problems = waiver.ParseSigners(signers, text)
	for _, p := range problems {
		if !p.Warning {
			return nil, &suite.ProblemsError{Path: signers, Problems: problems}
		}
	}
	c.problems(problems)
	return loaded, nil
}

// A listedWaiver is a waiver and where it stands.
type listedWaiver struct {
	Suite string `json:"suite"`
	N     int    `json:"n"`
	State string `json:"state"`
	// Problem says why nobody has approved it.
	Problem string `json:"problem,omitempty"`
	eval.Waiver
}

// States of a waiver.
const (
	waiverHolds      = "valid"
	waiverExpired    = "expired"
	waiverUnapproved = "unapproved"
)

func listWaivers(loaded *suite.Loaded, by waiver.Authority, now time.Time) []listedWaiver {
	var out []listedWaiver
	for _, w := range loaded.Waivers.Waivers {
		one := listedWaiver{Suite: loaded.Waivers.Suite, N: w.N, State: waiverHolds, Waiver: w.Waiver}
		approved, problem := loaded.Waivers.ApproveOne(w, by, now)
		switch {
		case problem != nil:
			one.State, one.Problem = waiverUnapproved, problem.Message
		case !now.Before(w.Expires):
			one.State = waiverExpired
		default:
			one.Waiver = approved
		}
		out = append(out, one)
	}
	return out
}

func (c *command) printWaivers(ws []listedWaiver, now time.Time) {
	if len(ws) == 0 {
		fmt.Fprintln(c.env.Stderr, "no such waivers")
		return
	}
	w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
	for _, one := range ws {
		state := one.State
		if state == waiverHolds {
			state = "expires in " + plural(int((one.Expires.Unix()-now.Unix())/(24*60*60)), "day") // a Duration ends after 292 years
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\tuntil %s\t%s\t%s\n", state, report.Line(one.Suite, 40), one.N, report.Line(waiver.Name(one.Waiver), 60),
			one.Expires.Format(time.DateOnly), report.Line(one.Approver, 40), report.Line(cmp.Or(one.Problem, one.Approval), 120))
		fmt.Fprintf(w, "\t\t\t%s\t\t\t\n", report.Line(one.Reason, 120))
	}
	_ = w.Flush() // a reader that went away is no error
}

// approvedHere are the waivers of a suite on this machine.
func (c *command) approvedHere(ctx context.Context, loaded *suite.Loaded, arg string) ([]eval.Waiver, error) {
	ws, err := c.approved(loaded, authority(ctx, loaded))
	if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
		problems.Path = arg
	}
	return ws, err
}
