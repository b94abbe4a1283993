package llmtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// fail makes one call that has to end with an error of a model.
func (w Wire) fail(t *testing.T, s *Server, e llm.Endpoint) *llm.Error {
	t.Helper()
	before := s.count()
	_, err := w.open(t, s, e).Generate(t.Context(), Request())
	got, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("err = %v, want an error of a model", err)
	}
	if n := s.count() - before; n > 1 {
		t.Errorf("%d requests, want one: the SDK must not retry", n)
	}
	return got
}

// statuses has one row for each kind; what more there is to tell apart is tested
// where it is told apart.
func (w Wire) statuses(t *testing.T) {
	coded := func(code string) string {
		return `{"error":{"type":"` + code + `","code":"` + code + `","message":"m"}}`
	}
	for _, row := range []struct {
		name   string
		status int
		body   string
		kind   llm.Kind
		sent   bool
	}{
		{"rate limit", 429, coded("rate_limit_error"), llm.RateLimit, false},
		{"overloaded", 529, coded("overloaded_error"), llm.Overloaded, false},
		{"unavailable", 503, "", llm.Overloaded, false},
		{"overloaded in an answer", 200, coded("overloaded_error"), llm.Overloaded, true},
		{"quota", 429, coded("insufficient_quota"), llm.Quota, false},
		{"payment", 402, "", llm.Quota, false},
		{"key", 401, coded("authentication_error"), llm.Auth, false},
		{"permission", 403, "", llm.Auth, false},
		{"context", 400, coded("context_length_exceeded"), llm.ContextLength, false},
		{"filter", 400, coded("content_filter"), llm.ContentFilter, true},
		{"bad request", 400, coded("invalid_request_error"), llm.BadRequest, false},
		{"no such model", 404, "404 page not found", llm.BadRequest, false},
		{"internal", 500, coded("api_error"), llm.Network, true},
		{"gateway", 502, "<html>", llm.Network, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After-Ms", "1500")
				rw.Header().Set("X-Should-Retry", "true")
				reply(rw, row.status, row.body)
			})
			got := w.fail(t, s, llm.Endpoint{})
			if got.Kind != row.kind || got.Status != row.status || got.Sent != row.sent {
				t.Errorf("got %s, status %d, sent %t; want %s, %d, %t", got.Kind, got.Status, got.Sent, row.kind, row.status, row.sent)
			}
			if want := 1500 * time.Millisecond; got.Temporary() && (got.Wait != want || got.WaitFrom != "retry-after-ms") {
				t.Errorf("wait %s from %q, want %s", got.Wait, got.WaitFrom, want)
			}
		})
	}
}

// lost has the ways in which an answer does not arrive.
func (w Wire) lost(t *testing.T) {
	const timeout = time.Second // long enough for a busy machine to send the request
	half := w.Answer[:len(w.Answer)/2]
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		timeout time.Duration
		status  int
		text    string
	}{
		{"closed without a word", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, 0, "EOF"},
		{"cut", func(rw http.ResponseWriter, _ *http.Request) {
			reply(rw, 200, half)
			flush(rw)
			panic(http.ErrAbortHandler)
		}, 0, 0, ""},
		{"cut before its length", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100000")
			_, _ = io.WriteString(rw, half)
			flush(rw)
			panic(http.ErrAbortHandler)
		}, 0, 200, "cut"},
		{"an error that is cut", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100000")
			rw.WriteHeader(http.StatusBadRequest)
			flush(rw)
			panic(http.ErrAbortHandler)
		}, 0, 400, "cut"},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timeout, 0, "no answer within 1s"},
		{"silence half-way", func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(rw, half)
			flush(rw)
			<-r.Context().Done()
		}, timeout, 200, "no answer within 1s"},
		{"without end", func(rw http.ResponseWriter, _ *http.Request) {
			for block := bytes.Repeat([]byte(" "), 1<<20); ; {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		}, 0, 200, "more than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := w.fail(t, serve(t, row.handler), llm.Endpoint{Timeout: row.timeout})
			if got.Kind != llm.Network || !got.Sent {
				t.Errorf("got %s, sent %t; want %s and sent", got.Kind, got.Sent, llm.Network)
			}
			if row.text != "" && (got.Status != row.status || !strings.Contains(got.Error(), row.text)) {
				t.Errorf("status %d, %q; want %d and %q in it", got.Status, got, row.status, row.text)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		s.Close()
		if got := w.fail(t, s, llm.Endpoint{}); got.Kind != llm.Network || got.Sent {
			t.Errorf("got %s, sent %t; want %s, not sent", got.Kind, got.Sent, llm.Network)
		}
	})
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// nonsense has answers of success that are none.
func (w Wire) nonsense(t *testing.T) {
	for _, row := range []struct{ name, body string }{
		{"nothing", ""},
		{"no JSON", "<html>Sign in</html>"},
		{"half of it", w.Answer[:len(w.Answer)/2]},
		{"more than it", w.Answer + "}"},
		{"empty", "{}"},
		{"null", "null"},
		{"a list", "[1]"},
		{"a text", `"x"`},
		{"nothing said", `{"type":"message","object":"chat.completion","content":null,"choices":[]}`},
		{"of another type", `{"type":"message","content":"x","choices":7}`},
		{"items of another type", `{"type":"message","content":7,"choices":[7]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := w.fail(t, Serve(t, 200, row.body), llm.Endpoint{})
			if got.Kind != llm.Network || !got.Sent || got.Status != 200 {
				t.Errorf("got %s, status %d, sent %t; want %s, 200 and sent", got.Kind, got.Status, got.Sent, llm.Network)
			}
		})
	}
	t.Run("another content type is forgiven", func(t *testing.T) {
		s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(rw, w.Answer)
		})
		got, err := w.open(t, s, llm.Endpoint{}).Generate(t.Context(), Request())
		if err != nil || got.ID != Answer().ID {
			t.Errorf("ID %q, err %v", got.ID, err)
		}
	})
}

func (w Wire) context(t *testing.T) {
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		_, err := w.open(t, s, llm.Endpoint{}).Generate(ctx, Request())
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want that of the context", err)
		}
	})
	t.Run("over before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := Serve(t, 200, w.Answer)
		_, err := w.open(t, s, llm.Endpoint{}).Generate(ctx, Request())
		if !errors.Is(err, context.Canceled) || s.count() != 0 {
			t.Errorf("err = %v after %d requests, want that of the context after none", err, s.count())
		}
	})
	t.Run("its deadline is the caller's, not the call's", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		_, err := w.open(t, s, llm.Endpoint{}).Generate(ctx, Request())
		if _, isModel := errors.AsType[*llm.Error](err); isModel || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want that of the context", err)
		}
	})
}

// redirect wants the key to stay where it belongs.
func (w Wire) redirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		elsewhere := Serve(t, 200, w.Answer)
		s := serve(t, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, elsewhere.URL+"/v1", status) })
		got := w.fail(t, s, llm.Endpoint{APIKey: key})
		if got.Kind != llm.BadRequest || elsewhere.count() != 0 {
			t.Errorf("%d: got %s after %d requests elsewhere, want %s after none", status, got.Kind, elsewhere.count(), llm.BadRequest)
		}
	}
}

// secrets wants no secret in an error, even when the server sends it back.
func (w Wire) secrets(t *testing.T) {
	const header = "team-password-987"
	padding := strings.Repeat("x", 990)
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"as the message", func(rw http.ResponseWriter, r *http.Request) {
			reply(rw, 401, `{"error":{"message":"No such key: `+r.Header.Get("Authorization")+" "+r.Header.Get("X-Team")+`"}}`)
		}},
		{"where the message is cut", func(rw http.ResponseWriter, r *http.Request) {
			reply(rw, 401, `{"error":{"message":"`+padding+r.Header.Get("X-Team")+`"}}`)
		}},
		{"as the code, escaped", func(rw http.ResponseWriter, _ *http.Request) {
			reply(rw, 400, `{"error":{"type":"sk\u002dconformance-0123456789","message":"`+header+`"}}`)
		}},
		{"as a text", func(rw http.ResponseWriter, r *http.Request) { reply(rw, 500, r.Header.Get("Authorization")+header) }},
		{"in an answer that is none", func(rw http.ResponseWriter, r *http.Request) {
			reply(rw, 200, `{"choices":"`+r.Header.Get("Authorization")+`"}`+header)
		}},
		{"in a broken answer", func(rw http.ResponseWriter, r *http.Request) {
			raw(rw, "HTTP/1.1 "+r.Header.Get("Authorization")+header+"\r\n\r\n")
		}},
		{"in a broken header", func(rw http.ResponseWriter, r *http.Request) {
			raw(rw, "HTTP/1.1 200 OK\r\n"+r.Header.Get("Authorization")+header+"\r\n\r\n")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := w.fail(t, serve(t, row.handler), llm.Endpoint{APIKey: key, Headers: map[string]string{"X-Team": header}})
			// A part of a secret is one too.
			for _, secret := range []string{key[3:12], header[:9]} {
				if strings.Contains(got.Error(), secret) {
					t.Errorf("a secret is in %q", got)
				}
			}
		})
	}
}

// raw answers with bytes.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer func(c net.Conn) { _ = c.Close() }(conn)
	_, _ = io.WriteString(conn, text)
}
