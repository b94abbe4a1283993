package demo

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/commandtest"
)

// serveEnv makes the test binary a demo server on its stdio, with the break that
// the variable names, as in "acme/" or "desk/slow".
const serveEnv = "DEMO_TEST_SERVE"

func TestMain(m *testing.M) {
	value, asServer := os.LookupEnv(serveEnv)
	if !asServer {
		os.Exit(m.Run())
	}
	name, regression, _ := strings.Cut(value, "/")
	err := Serve(context.Background(), Options{
		Name: name, Break: regression, Caller: Caller{os.Getenv("DESK_TENANT"), os.Getenv("DESK_TOKEN")},
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	commandtest.Exit(0)
}
