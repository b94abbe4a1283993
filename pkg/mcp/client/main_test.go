package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/enginetest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		enginetest.Main()
	}
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "hostile":
			runHostile(os.Args[2])
			commandtest.Exit(0)
		case "guard":
			pgid, err := strconv.Atoi(os.Args[2])
			if err == nil {
				err = wire.RunGuard(os.Stdin, pgid)
			}
			if err != nil {
				panic(err)
			}
			commandtest.Exit(0)
		case "owner":
			runOwner(os.Args[2:])
			commandtest.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// options of an opener for the tests' own servers.
func options() client.Options {
	return client.Options{Environ: os.Environ(), Starts: 4}
}

// hostileSpec is the hostile server in a mode, with short timeouts.
func hostileSpec(tb testing.TB, mode string) client.Spec {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return client.Spec{
		Name: "hostile", Dir: tb.TempDir(),
		Server: eval.Server{
			Command:     []string{self, "hostile", mode},
			CallTimeout: 20 * time.Second, CloseTimeout: 300 * time.Millisecond,
		},
	}
}

func open(tb testing.TB, spec client.Spec) *client.Session {
	tb.Helper()
	s, err := client.NewOpener(options()).Open(tb.Context(), spec)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func attach(tb testing.TB, s *client.Session) *client.Attachment {
	tb.Helper()
	a := s.Attach()
	tb.Cleanup(a.Detach)
	return a
}

func refused(tb testing.TB, spec client.Spec) *client.StartError {
	tb.Helper()
	s, err := client.NewOpener(options()).Open(tb.Context(), spec)
	if err == nil {
		_ = s.Close()
		tb.Fatal("open succeeded, want an error")
	}
	start, ok := errors.AsType[*client.StartError](err)
	if !ok {
		tb.Fatalf("open gave %T %v, want a *StartError", err, err)
	}
	return start
}

// do calls the hostile server's tool.
func do(ctx context.Context, a *client.Attachment, what string, args ...any) eval.Outcome {
	m := map[string]any{"do": what}
	for i := 0; i+1 < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return a.Call(ctx, "do", raw)
}

// textOf is the text of a result's first block.
func textOf(out eval.Outcome) string {
	var res struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(out.Result, &res) != nil || len(res.Content) == 0 {
		return ""
	}
	return res.Content[0].Text
}

func hasFinding(s *client.Session, code string) bool {
	for _, f := range s.Findings() {
		if f.Code == code {
			return true
		}
	}
	return false
}
