package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func atProxy(t *testing.T) session {
	t.Helper()
	return open(t, Options{Name: "proxy"})
}

func TestProxySearch(t *testing.T) {
	s := atProxy(t)
	for name, tt := range map[string]struct {
		args  args
		total string
		names []string
	}{
		"files":       {args{"query": "file operations", "limit": 2.0}, "7", []string{"files:read_file", "files:write_file"}},
		"database":    {args{"query": "Database operations", "limit": 1.0}, "6", []string{"warehouse:database_operations"}},
		"environment": {args{"query": "environment"}, "2", []string{"everything-2:printEnv", "everything-2:set_environment"}},
		"nothing":     {args{"query": "teleport"}, "0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := session{t, s.c}.object("retrieve_tools", tt.args)
			var names []string
			for _, hit := range got["tools"].([]any) {
				names = append(names, hit.(args)["name"].(string))
			}
			if diff := cmp.Diff(tt.names, names); diff != "" || got["total"] != num(tt.total) {
				t.Errorf("total %v, want %s; names (-want +got):\n%s", got["total"], tt.total, diff)
			}
		})
	}
}

// A server that is added connects by the third look at the list, and its log
// says so; other sessions know nothing of it.
func TestProxyAddsAServer(t *testing.T) {
	s := atProxy(t)
	s.object("upstream_servers", args{
		"operation": "add", "name": "llama", "protocol": "stdio", "command": "uvx", "args": []any{"git+https://example.com/llama"},
	})
	for i, connected := range []bool{false, false, true, true} {
		if got := s.upstream("llama"); got["connected"] != connected || got["quarantined"] != false {
			t.Errorf("look %d: got %v, want connected %v and not quarantined", i+1, got, connected)
		}
	}
	lines := asJSON(s.object("server_logs", args{"name": "llama", "lines": 50.0})["lines"])
	if want := `["INFO starting llama over stdio: uvx","INFO waiting for initialize","INFO llama is connected","INFO 7 tools listed"]`; lines != want {
		t.Errorf("got log %s, want %s", lines, want)
	}
	if got := atProxy(t).upstream("llama"); got != nil {
		t.Errorf("another session sees %v", got)
	}
	s.object("upstream_servers", args{"operation": "remove", "name": "llama"})
	if got := s.upstream("llama"); got != nil {
		t.Errorf("got %v after it was removed, want nothing", got)
	}
}

// upstream finds a server in the list.
func (s session) upstream(name string) args {
	s.t.Helper()
	for _, item := range s.object("upstream_servers", args{"operation": "list"})["servers"].([]any) {
		if u := item.(args); u["name"] == name {
			return u
		}
	}
	return nil
}

func TestProxyAnswers(t *testing.T) {
	s := atProxy(t)
	for name, tt := range map[string]struct {
		tool string
		args args
		want string
	}{
		"end of a log":     {"upstream_servers", args{"operation": "tail_log", "name": "everything-2", "lines": 1.0}, `{"lines":["2025-06-12T08:45:00Z INFO ping answered in 2 ms"],"name":"everything-2","operation":"tail_log"}`},
		"quarantined":      {"quarantine_security", args{"operation": "list_quarantined"}, `{"operation":"list_quarantined","servers":["free-notes"]}`},
		"end of the cache": {"read_cache", args{"key": "xyz123", "offset": 119.0}, `{"key":"xyz123","offset":119,"records":[{"id":119,"title":"Record 119"}],"total":120}`},
		"past the cache":   {"read_cache", args{"key": "xyz123", "offset": 500.0}, `{"key":"xyz123","offset":120,"records":[],"total":120}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := asJSON((session{t, s.c}).object(tt.tool, tt.args)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if n := len(s.object("read_cache", args{"key": "xyz123", "offset": 50.0})["records"].([]any)); n != 50 {
		t.Errorf("got %d records, want 50", n)
	}
	if n := len(s.object("list_registries", args{})["registries"].([]any)); n != 3 {
		t.Errorf("got %d registries, want 3", n)
	}
	if got := asJSON(s.object("quarantine_security", args{"operation": "inspect_quarantined", "name": "free-notes"})); !strings.Contains(got, "~/.ssh") {
		t.Errorf("got %s, want what is wrong with the server", got)
	}
}

func TestProxyRejections(t *testing.T) {
	s := atProxy(t)
	for name, tt := range map[string]struct {
		tool string
		args args
		want string
	}{
		"nothing to do":   {"upstream_servers", args{}, "upstream_servers.operation: must not be null"},
		"unknown act":     {"upstream_servers", args{"operation": "explode"}, "upstream_servers.operation: must be one of list, add, remove, tail_log"},
		"log of nothing":  {"upstream_servers", args{"operation": "tail_log"}, "upstream_servers.name: must not be null"},
		"unknown server":  {"upstream_servers", args{"operation": "tail_log", "name": "llama"}, "upstream_servers.name: does not exist"},
		"name taken":      {"upstream_servers", args{"operation": "add", "name": "files", "protocol": "stdio", "command": "x"}, "upstream_servers.name: is taken"},
		"no command":      {"upstream_servers", args{"operation": "add", "name": "llama", "protocol": "stdio"}, "upstream_servers: wants a protocol, and a command for stdio or a url for the others"},
		"bad arguments":   {"upstream_servers", args{"operation": "add", "name": "llama", "args": []any{1.0}}, "upstream_servers.args: must be an array of strings"},
		"unknown log":     {"server_logs", args{"name": "llama"}, "server_logs.name: does not exist"},
		"not quarantined": {"quarantine_security", args{"operation": "inspect_quarantined", "name": "files"}, "quarantine_security.name: is not quarantined"},
		"unknown key":     {"read_cache", args{"key": "abc"}, "read_cache.key: does not exist"},
		"parameter":       {"list_registries", args{"all": true}, `list_registries."all": is no parameter`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (session{t, s.c}).rejection(tt.tool, tt.args); got != tt.want {
				t.Errorf("%s %v: got %q, want %q", tt.tool, tt.args, got, tt.want)
			}
		})
	}
}
