package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/internal/demo"
)

func (c *command) demo() *cobra.Command {
	o := demo.Options{In: c.env.Stdin, Out: c.env.Stdout, Err: c.env.Stderr}
	cmd := &cobra.Command{
		Use:   "demo NAME",
		Short: "Serve a small MCP server to try suites on",
		Long: `Serve a made-up MCP server on stdio or, with --http, as Streamable HTTP under /mcp.

  acme    five tools that look things up
  desk    a support desk of two companies: orders, customers, refunds up to
          100.00 USD, escalations, jobs and reports. What a session changes, it
          alone sees. DESK_TENANT, or the header X-Desk-Tenant, is the company:
          acme (default) or globex. DESK_TOKEN, or Authorization: Bearer, says
          who calls: a token that begins with viewer may not refund.
  proxy   stands in for a proxy of MCP servers, of which there are none

--break NAME introduces one regression into acme or desk, to see which cases
notice it; --break list prints them all, with the cases that must fail.`,
		Args: args(1, 1, "the name of a demo: "+strings.Join(demo.Names(), ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			if o.Break == "list" && slices.Contains(demo.Names(), o.Name) {
				c.printBreaks(o.Name)
				return nil
			}
			o.Caller.Tenant, _ = c.env.Lookup("DESK_TENANT")
			o.Caller.Token, _ = c.env.Lookup("DESK_TOKEN")
			if err := demo.Check(o); err != nil {
				return usage("evalfarm demo --help", "%s", err)
			}
			return demo.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.HTTP, "http", "", "serve Streamable HTTP on this `ADDRESS`; :PORT means loopback only")
	cmd.Flags().StringVar(&o.Break, "break", "", "introduce the regression `NAME`; list prints them")
	return cmd
}

func (c *command) printBreaks(name string) {
	breaks := demo.Breaks(name)
	if len(breaks) == 0 {
		c.print("%s has no breaks.\n", name)
		return
	}
	c.print("Each breaks the demo in one way. To see it noticed:\n")
	c.print("  B=\"evalfarm demo %s --break NAME\"\n", name)
	switch name {
	case "acme":
		c.print("  evalfarm run suites/tool-accuracy --server \"$B\"\n")
		c.print("  evalfarm run suites/quickstart --server \"acme=$B\" --server \"acme-hurried=$B\"   (it has two servers)\n\n")
	case "desk":
		c.print("  evalfarm run suites/support-desk --tag expect-pass --server \"desk=$B\"   (for slow: \"desk-hurried=$B\")\n\n")
	}
	for i, b := range breaks {
		if i > 0 {
			c.print("\n")
		}
		c.print("%s: %s\n", b.Name, b.Summary)
		for _, f := range b.Fails {
			c.print("  %-20s %s\n", f.Suite, strings.Join(f.Cases, " "))
		}
	}
}
