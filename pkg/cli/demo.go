package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/internal/demo"
)

func (c *command) demo() *cobra.Command {
	o := demo.Options{In: c.env.Stdin, Out: c.env.Stdout, Err: c.env.Stderr}
	cmd := &cobra.Command{
		Use:   "demo acme",
		Short: "Serve a small MCP server to try suites on",
		Long: `Serve the five tools of a small company over MCP, on stdio or, with --http, as
Streamable HTTP under /mcp.

--break NAME introduces one regression, to see which cases notice it;
--break list prints them all, with the cases that must fail.`,
		Args: args(1, 1, "the name of a demo: acme"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Break == "list" {
				c.printBreaks()
				return nil
			}
			o.Name = args[0]
			if _, err := demo.Acme(o.Break); err != nil || o.Name != "acme" {
				if o.Name != "acme" {
					err = fmt.Errorf("unknown demo %q", o.Name)
				}
				return usage("evalfarm demo acme --break list", "%s", err)
			}
			return demo.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.HTTP, "http", "", "serve Streamable HTTP on this `ADDRESS`; :PORT means loopback only")
	cmd.Flags().StringVar(&o.Break, "break", "", "introduce the regression `NAME`; list prints them")
	return cmd
}

func (c *command) printBreaks() {
	c.print("Each breaks the demo in one way. To see it noticed:\n")
	c.print("  B=\"evalfarm demo acme --break NAME\"\n")
	c.print("  evalfarm run suites/tool-accuracy --server \"$B\"\n")
	c.print("  evalfarm run suites/quickstart --server \"acme=$B\" --server \"acme-hurried=$B\"   (it has two servers)\n\n")
	for i, b := range demo.Breaks() {
		if i > 0 {
			c.print("\n")
		}
		c.print("%s: %s\n", b.Name, b.Summary)
		for _, f := range b.Fails {
			c.print("  %-20s %s\n", f.Suite, strings.Join(f.Cases, " "))
		}
	}
}
