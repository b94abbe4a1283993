package demo

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// serveEnv makes the test binary a demo server on its stdio, with the break that
// the variable names ("none" for none).
const serveEnv = "DEMO_TEST_BREAK"

func TestMain(m *testing.M) {
	name, asServer := os.LookupEnv(serveEnv)
	if !asServer {
		os.Exit(m.Run())
	}
	if name == "none" {
		name = ""
	}
	err := Serve(context.Background(), Options{Name: "acme", Break: name, In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
