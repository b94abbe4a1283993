package agent_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/demo"
)

// serveDemo makes the test binary an MCP server, with a regression perhaps.
const serveDemo = "serve-demo"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveDemo {
		o := demo.Options{Name: "acme", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		if len(os.Args) > 2 {
			o.Break = os.Args[2]
		}
		if err := demo.Serve(context.Background(), o); err != nil {
			os.Exit(1)
		}
		commandtest.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
