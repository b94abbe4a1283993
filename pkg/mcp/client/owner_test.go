package client_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// runOwner is a worker that opens a server, says so and then does nothing. It is
// killed. Its arguments are its name, the server's mode and optionally "guarded".
func runOwner(args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	o := client.Options{Environ: os.Environ(), Owner: args[0]}
	if len(args) > 2 {
		o.GuardCommand = []string{self, "guard"}
	}
	s, err := client.NewOpener(o).Open(context.Background(), client.Spec{Name: "owned", Dir: "/", Server: eval.Server{Command: []string{self, "hostile", args[1]}}})
	if err != nil {
		panic(err)
	}
	for s.Stderr() == "" {
		<-time.After(time.Millisecond)
	}
	fmt.Fprint(os.Stdout, s.Stderr(), "ready\n")
	idle()
}
