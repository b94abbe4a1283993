package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// hostile is a stdio server that does what its mode says: the whole of it, or
// when a tool is called, what the argument "do" says. The test binary runs it
// instead of the tests when its first argument is "hostile".
type hostile struct {
	mode string
	mu   sync.Mutex // guards stdout
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		URI             string          `json:"uri"`
		Cursor          string          `json:"cursor"`
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		Meta            json.RawMessage `json:"_meta"`
		Arguments       struct {
			Do   string `json:"do"`
			N    int    `json:"n"`
			Text string `json:"text"`
		} `json:"arguments"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func runHostile(mode string) {
	h := &hostile{mode: mode}
	h.run()
}

func (h *hostile) raw(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = io.WriteString(os.Stdout, s)
}

func (h *hostile) send(format string, args ...any) { h.raw(fmt.Sprintf(format, args...) + "\n") }

func (h *hostile) text(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted)
}

func child() {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
}

// idle lives on, but not for ever, whatever becomes of the test.
func idle() { <-time.After(10 * time.Minute) }

const hostileTools = `{"name":"do","inputSchema":{"type":"object"}},
	{"name":"rooted","inputSchema":{"type":"object","allOf":[{"required":["a"]}],"x-vendor":{"k":1}}}`

func (h *hostile) run() {
	switch h.mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "fatal: missing API key")
		os.Exit(3)
	case "banner":
		h.raw("Welcome to server v1\n\n{not json\n[1,2]\n\"str\"\n123\n{}\n{\"jsonrpc\":\"2.0\"}\n")
	case "grandchild":
		child()
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
		child()
	case "stderr-flood":
		fmt.Fprint(os.Stderr, "first\n"+strings.Repeat("x", 5<<20)+"\nlast\n")
	case "early":
		h.send(`{"jsonrpc":"2.0","id":"early","method":"ping"}`)
	case "never-reads":
		idle()
	case "closed-at-start":
		_ = os.Stdout.Close()
		idle()
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m rpc
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		h.handle(m, line)
	}
	switch h.mode {
	case "ignore-term", "ignore-eof":
		idle()
	}
}

func (h *hostile) handle(m rpc, line []byte) {
	if m.ID == nil || m.Method == "" {
		h.heard(m, line)
		return
	}
	switch m.Method {
	case "server/discover":
		if h.mode == "die-on-discover" {
			fmt.Fprintln(os.Stderr, "expected initialize request")
			os.Exit(1)
		}
		h.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
	case "initialize":
		h.initialize(m)
	case "tools/list":
		h.list(m)
	case "tools/call":
		h.call(m)
	case "resources/read":
		uri, _ := json.Marshal(m.Params.URI)
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":%s,"text":"x"}]}}`, m.ID, uri)
	default:
		h.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
	}
}

// heard handles notifications and answers of the client: it says on stderr what
// it got.
func (h *hostile) heard(m rpc, line []byte) {
	fmt.Fprintf(os.Stderr, "heard %s\n", strings.TrimSpace(string(line)))
	if h.mode == "changes" && m.Method == "notifications/initialized" {
		for range 3 {
			h.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
}

func (h *hostile) initialize(m rpc) {
	version := m.Params.ProtocolVersion
	switch h.mode {
	case "future":
		version = "2099-01-01"
	case "old":
		version = "2024-11-05"
	case "refuse":
		h.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"licence expired"}}`, m.ID)
		return
	case "mute":
		return
	case "init-garbage":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":"hello"}`, m.ID)
		return
	case "init-wrong-id":
		h.send(`{"jsonrpc":"2.0","id":4711,"result":{}}`)
		return
	}
	h.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"hostile","version":%q}}}`, m.ID, version, h.mode)
}

func (h *hostile) list(m rpc) {
	switch h.mode {
	case "page-loop":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"same"}}`, m.ID, strings.ReplaceAll(hostileTools, "\n", ""))
	case "pages":
		n := len(m.Params.Cursor)
		next := ""
		if n < 5 {
			next = fmt.Sprintf(`,"nextCursor":%q`, strings.Repeat("c", n+1))
		}
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]%s}}`, m.ID, n, next)
	case "endless":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"%sc"}}`, m.ID, m.Params.Cursor)
	case "bad-tool":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"bad","inputSchema":{"type":["object","null"]}},{"name":"worse","inputSchema":true},7,{"name":"good","inputSchema":{"type":"object"}}]}}`, m.ID)
	default:
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, strings.ReplaceAll(hostileTools, "\n", ""))
	}
}

func (h *hostile) call(m rpc) {
	id, a := m.ID, m.Params.Arguments
	switch a.Do {
	case "crash":
		fmt.Fprintln(os.Stderr, "panic: boom")
		os.Exit(7)
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "crash-half":
		h.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"ty`, id))
		os.Exit(7)
	case "hang":
	case "huge":
		h.text(id, strings.Repeat("y", a.N))
	case "notes":
		for i := range a.N {
			h.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, i)
		}
		h.text(id, "done")
	case "late-progress":
		h.text(id, "done")
		h.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	case "unknown-content":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"hologram","x":1}]}}`, id)
	case "no-content":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"a":1}}}`, id)
	case "null-result":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":null}`, id)
	case "array-result":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":[1]}`, id)
	case "neither":
		h.send(`{"jsonrpc":"2.0","id":%s}`, id)
	case "both":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"x"}}`, id)
	case "empty-image":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"image","data":"","mimeType":"image/png"}]}}`, id)
	case "custom-error":
		h.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"quota","data":{"retryAfter":9007199254740993}}}`, id)
	case "text-error":
		h.send(`{"jsonrpc":"2.0","id":%s,"error":"nope"}`, id)
	case "tool-error":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"must match"}],"isError":true}}`, id)
	case "odd-is-error":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":"yes"}}`, id)
	case "string-id":
		h.text(json.RawMessage(`"`+string(id)+`"`), "x")
	case "float-id":
		h.text(json.RawMessage(string(id)+".0"), "x")
	case "wrong-id":
		h.text(json.RawMessage(string(id)+"000"), "x")
	case "twice":
		h.text(id, "one")
		h.text(id, "two")
	case "debug":
		h.raw("DEBUG handling call\n")
		h.text(id, "ok")
	case "glued":
		h.raw("DEBUG no newline ")
		h.text(id, "ok")
	case "glued-behind":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}trailing`, id)
	case "pretty":
		h.send("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": %s,\n  \"result\": {\n    \"content\": []\n  }\n}", id)
	case "batch":
		h.send(`[{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}]`, id)
	case "bigint":
		h.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"id":9007199254740993}}}`, id)
	case "bad-utf8":
		h.send("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}}", id)
	case "sleep":
		<-time.After(time.Duration(a.N) * time.Millisecond)
		h.text(id, "slept")
	case "collide":
		h.send(`{"jsonrpc":"2.0","id":%s,"method":"roots/list"}`, id)
		h.text(id, "after")
	case "ask":
		h.send(`{"jsonrpc":"2.0","id":"ask-1","method":%q,"params":{}}`, a.Text)
		h.text(id, "asked")
	case "close-stdout":
		_ = os.Stdout.Close()
	case "environment":
		h.text(id, strings.Join(os.Environ(), "\n"))
	case "meta":
		h.text(id, string(m.Params.Meta))
	case "cwd":
		dir, _ := os.Getwd()
		h.text(id, dir)
	case "child":
		child()
		h.text(id, "ok")
	case "stop-reading":
		h.text(id, "ok")
		idle()
	default:
		h.text(id, "echo "+a.Text)
	}
}
