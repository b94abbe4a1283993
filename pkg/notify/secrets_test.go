package notify_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/notify"
)

// A secret is in no message, in no log and in no notice: not the address, not what a
// server says it was sent, not half of it.
func TestSecretsAreHidden(t *testing.T) {
	const token = "xoxb-very-secret-token-0123456789"
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization")+" to "+r.URL.String()+
			", and in colours xoxb-very\x1b[1m-secret-token-0123456789 and at the end of what is shown "+strings.Repeat(".", 210)+token)
	}
	for name, test := range map[string]struct {
		target func(address string) eval.Target
		secret func(address string) string
		hidden []string
	}{
		"an address that is one": {
			func(string) eval.Target { return eval.Target{Name: "t", Slack: &eval.Slack{URL: "${{ secrets.S }}"}} },
			func(address string) string { return address + "/services/" + token + "?k=very-secret-query" },
			[]string{token, "very-secret-query"},
		},
		"a part of an address": {
			func(address string) eval.Target {
				return eval.Target{Name: "t", Slack: &eval.Slack{URL: address + "/services/${{ secrets.S }}"}}
			},
			func(string) string { return token },
			[]string{token},
		},
		"a token": {
			func(address string) eval.Target {
				return eval.Target{Name: "t", GitHubStatus: &eval.GitHubStatus{Repository: "a/b", Token: "${{ secrets.S }}", Context: "c", APIURL: address}}
			},
			func(string) string { return token },
			[]string{token},
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := newReceiver(t, echo, reset)
			gone := newReceiver(t)
			gone.Close()
			for where, address := range map[string]string{"echoed": to.URL, "reset": to.URL, "refused": gone.URL} {
				r := newRig(t, test.target(address))
				r.secrets["S"] = test.secret(address)
				r.end(summary("r-1"))
				var logged bytes.Buffer
				s := notify.New(r.store, notify.Options{
					Targets: r.targets, Secret: func(name string) (string, error) { return r.secrets[name], nil },
					Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
				})
				if _, err := s.Deliver(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				n := r.one()
				if n.Message == "" || logged.Len() == 0 {
					t.Fatalf("%s: got %+v and the log %q, want a failure in both", where, n, logged.String())
				}
				hidden := test.hidden
				if u, err := url.Parse(r.secrets["S"]); err == nil && u.Host != "" {
					hidden = append(hidden, u.Host)
				}
				for _, text := range []string{n.Message, logged.String()} {
					for _, secret := range append(hidden, token[:12]) {
						if strings.Contains(text, secret) {
							t.Errorf("%s: %q is in %s", where, secret, text)
						}
					}
				}
			}
		})
	}
}

// An address that nobody hid is shown by its host alone: its path may be all that
// one has to know.
func TestAddressesAreShownByTheirHost(t *testing.T) {
	gone := newReceiver(t)
	gone.Close()
	r := newRig(t, eval.Target{Name: "t", Slack: &eval.Slack{URL: gone.URL + "/services/unhidden"}})
	r.end(summary("r-1"))
	r.deliver()
	if n := r.one(); !strings.HasPrefix(n.Message, "post to 127.0.0.1:") || strings.Contains(n.Message, "unhidden") {
		t.Errorf("got %q, want the host", n.Message)
	}
}

// An address that was a secret is checked when it is known.
func TestAddressesThatCannotBe(t *testing.T) {
	for name, address := range map[string]string{
		"in the clear":     "http://hooks.example.com/very-secret",
		"another protocol": "ftp://hooks.example.com/very-secret",
		"credentials":      "https://me:very-secret@hooks.example.com/",
		"none":             "very-secret",
		"broken":           "https://very-secret\x7f/",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, eval.Target{Name: "t", Slack: &eval.Slack{URL: "${{ secrets.S }}"}})
			r.secrets["S"] = address
			r.end(summary("r-1"))
			r.deliver()
			if n := r.one(); n.State != "failed" || !strings.HasPrefix(n.Message, "the address is not used: ") || strings.Contains(n.Message, "very-secret") {
				t.Errorf("got %+v, want that it is not used", n)
			}
		})
	}
}
