// Command boxed is a small MCP server that tells what a container lets it do. It is
// built for the tests with a real engine, as the only file of an image.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		return // containers can be run
	}
	signal.Ignore(syscall.SIGTERM)
	fmt.Fprintln(os.Stderr, "boxed")
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			time.Sleep(time.Hour) // it does not take a hint
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string          `json:"protocolVersion"`
				Name            string          `json:"name"`
				Arguments       json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		var result any = map[string]any{}
		switch m.Method {
		case "initialize":
			result = map[string]any{
				"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "boxed", "version": strings.Join(os.Args[1:], " ")},
			}
		case "tools/call":
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": call(m.Params.Name)}}}
		}
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(answer))
	}
}

func call(tool string) string {
	switch tool {
	case "environment":
		return strings.Join(os.Environ(), "\n")
	case "user":
		return fmt.Sprint(os.Getuid())
	case "interfaces":
		var names []string
		all, err := net.Interfaces()
		for _, i := range all {
			names = append(names, i.Name)
		}
		return fmt.Sprint(names, err)
	case "read":
		content, err := os.ReadFile("/in/file")
		return fmt.Sprint(string(content), err)
	case "write":
		return fmt.Sprint(os.WriteFile("/in/file", []byte("changed"), 0o600))
	case "capabilities":
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
				return strings.TrimSpace(value)
			}
		}
	case "eat":
		for kept := [][]byte{}; ; {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = 1
			}
			kept = append(kept, block)
		}
	}
	return "unknown tool"
}
