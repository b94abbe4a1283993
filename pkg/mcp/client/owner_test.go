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
// killed. Its arguments are its name, the server's mode and optionally "guarded",
// or, for a server in a container, an image and its engine.
func runOwner(args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	o := client.Options{Environ: os.Environ(), Owner: args[0]}
	server := eval.Server{Command: []string{self, "hostile", args[1]}}
	switch {
	case len(args) == 3:
		o.GuardCommand = []string{self, "guard"}
	case len(args) == 4:
		server = eval.Server{Command: []string{args[1]}, Container: eval.Container{Image: args[2]}}
		o.ContainerEngine = args[3]
	}
	s, err := client.NewOpener(o).Open(context.Background(), client.Spec{Name: "owned", Dir: "/", Attempt: args[0], Server: server})
	if err != nil {
		panic(err)
	}
	for s.Stderr() == "" {
		<-time.After(time.Millisecond)
	}
	fmt.Fprint(os.Stdout, s.Stderr(), "ready\n")
	idle()
}
