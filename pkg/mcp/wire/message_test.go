package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

func TestParse(t *testing.T) {
	type parsed struct {
		ok                           bool
		id, method, result, rpcError string
		request, notification        bool
		answer                       bool
	}
	tests := []struct {
		name, raw string
		want      parsed
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, parsed{ok: true, id: "1", method: "ping", request: true}},
		{"notification", `{"jsonrpc":"2.0","method":"n","params":{}}`, parsed{ok: true, method: "n", notification: true}},
		{"result", ` {"jsonrpc":"2.0","id":"a","result":{"x": 1}} `, parsed{ok: true, id: `"a"`, result: `{"x": 1}`, answer: true}},
		{"error", `{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, parsed{ok: true, id: "null", rpcError: `{"code":1}`, answer: true}},
		{"result beside a null error", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, parsed{ok: true, id: "1", result: "{}", answer: true}},
		{"null result", `{"jsonrpc":"2.0","id":1,"result":null}`, parsed{ok: true, id: "1", result: "null", answer: true}},
		{"neither", `{"jsonrpc":"2.0","id":1}`, parsed{ok: true, id: "1", answer: true}},
		{"float id", `{"jsonrpc":"2.0","id":7.0,"result":{}}`, parsed{ok: true, id: "7", result: "{}", answer: true}},
		{"exponent id", `{"jsonrpc":"2.0","id":1e2,"result":{}}`, parsed{ok: true, id: "100", result: "{}", answer: true}},
		{"half id", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, parsed{ok: true, id: "1.5", result: "{}", answer: true}},
		{"huge id", `{"jsonrpc":"2.0","id":1e300,"result":{}}`, parsed{ok: true, id: "1e300", result: "{}", answer: true}},
		{"no version", `{"id":1,"result":{}}`, parsed{}},
		{"version 1", `{"jsonrpc":"1.0","id":1,"result":{}}`, parsed{}},
		{"version alone", `{"jsonrpc":"2.0"}`, parsed{}},
		{"batch", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, parsed{}},
		{"text", `Welcome`, parsed{}},
		{"half", `{"jsonrpc":"2.0","id":1,"res`, parsed{}},
		{"text behind", `{"jsonrpc":"2.0","id":1,"result":{}} ok`, parsed{}},
		{"nothing", ``, parsed{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, ok := wire.Parse([]byte(tt.raw))
			got := parsed{ok, m.ID, m.Method, string(m.Result), string(m.Error), m.Request(), m.Notification(), ok && m.Answer()}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[1,2]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":""}}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, ok := wire.Parse(raw)
		if !ok {
			return
		}
		if !json.Valid(m.Raw) || !bytes.Contains(raw, m.Raw) {
			t.Errorf("got raw %q, want the bytes of %q", m.Raw, raw)
		}
		for _, part := range [][]byte{m.Params, m.Result, m.Error} {
			if len(part) > 0 && !bytes.Contains(raw, part) {
				t.Errorf("got %q, want bytes of %q", part, raw)
			}
		}
		kinds := 0
		for _, is := range []bool{m.Request(), m.Notification(), m.Answer()} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("got %d kinds of %q, want one", kinds, raw)
		}
	})
}
