package notify_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A postOffice is a real SMTP server.
type postOffice struct {
	mu    sync.Mutex
	mails []letter
	// refuse is what the next receivers are answered, one after the other.
	refuse []error
	port   int
	roots  *x509.CertPool
}

// A letter is a mail as the server got it.
type letter struct {
	from, user string
	to         []string
	encrypted  bool
	body       []byte
}

// open starts a server that offers STARTTLS, or none, or speaks TLS from the first
// byte. It wants to know who brings mail when that is encrypted.
func open(t *testing.T, how eval.MailTLS) *postOffice {
	t.Helper()
	certs := httptest.NewTLSServer(nil) // for its certificate, of example.com and this machine
	defer certs.Close()
	p := &postOffice{roots: x509.NewCertPool()}
	p.roots.AddCert(certs.Certificate())
	secure := &tls.Config{Certificates: certs.TLS.Certificates}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{p: p, c: c}, nil }))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.port = l.Addr().(*net.TCPAddr).Port
	server.Domain, server.ReadTimeout, server.WriteTimeout = "post.example.com", 10*time.Second, 10*time.Second
	server.ErrorLog = discard{}
	switch how {
	case eval.MailSTARTTLS:
		server.TLSConfig = secure
	case eval.MailImplicit:
		l = tls.NewListener(l, secure)
	case eval.MailPlain:
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
	return p
}

type discard struct{}

func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}

// A session is one connection.
type session struct {
	p *postOffice
	c *smtp.Conn
	letter
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "farm" || password != "open sesame" {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	_, s.encrypted = s.c.TLSConnectionState()
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if len(s.p.refuse) > 0 {
		err := s.p.refuse[0]
		s.p.refuse = s.p.refuse[1:]
		if err != nil {
			return err
		}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	var err error
	if s.body, err = io.ReadAll(r); err != nil {
		return err
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.mails = append(s.p.mails, s.letter)
	return nil
}

func (s *session) Reset() { s.to = nil }

func (s *session) Logout() error { return nil }

func (p *postOffice) target(how eval.MailTLS) eval.Target {
	e := &eval.Email{Host: "127.0.0.1", Port: p.port, From: "Farm <farm@example.com>", To: []string{"a@example.com", "B <b@example.com>"}, TLS: how}
	if how != eval.MailPlain {
		e.User, e.Password = "farm", "${{ secrets.P }}"
	}
	return eval.Target{Name: "mail", Email: e, Link: "https://farm.example/{run}?a=1&b=2"}
}

func (p *postOffice) rig(t *testing.T, how eval.MailTLS) *rig {
	t.Helper()
	r := newRig(t, p.target(how))
	r.roots, r.secrets["P"] = p.roots, "open sesame"
	return r
}

// read takes a mail apart: its headers, and its parts by their type.
func read(t *testing.T, raw []byte) (mail.Header, map[string]string) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("got the type %s (%v), want alternatives", kind, err)
	}
	parts := map[string]string{}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return m.Header, parts
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		parts[kind] = strings.ReplaceAll(string(body), "\r\n", "\n")
	}
}

func TestEmail(t *testing.T) {
	for _, how := range []eval.MailTLS{eval.MailSTARTTLS, eval.MailImplicit, eval.MailPlain} {
		t.Run(string(how), func(t *testing.T) {
			p := open(t, how)
			r := p.rig(t, how)
			r.end(summary("r-1"))
			if n := r.deliver()[0]; n.State != store.NoticeSent {
				t.Fatalf("got %+v, want it sent", n)
			}
			got := p.mails[0]
			want := letter{from: "farm@example.com", to: []string{"a@example.com", "b@example.com"}, user: "farm", encrypted: true}
			if how == eval.MailPlain {
				want.user, want.encrypted = "", false
			}
			body := got.body
			if got.body = nil; cmp.Diff(want, got, cmp.AllowUnexported(letter{})) != "" {
				t.Errorf("got %+v, want %+v", got, want)
			}
			header, parts := read(t, body)
			for name, want := range map[string]string{
				"Subject": "FAIL nightly-desk, script 3/4 pass, 1m20s, $1.23", "Auto-Submitted": "auto-generated",
				"From": `"Farm" <farm@example.com>`, "To": `<a@example.com>, "B" <b@example.com>`,
				"Date": "Sun, 01 Mar 2026 02:00:00 +0000",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			if id := header.Get("Message-Id"); !strings.HasPrefix(id, "<msg_") || !strings.HasSuffix(id, "@evalfarm>") {
				t.Errorf("got the id %q, want that of the notice", id)
			}
			const text = `FAIL nightly-desk, script 3/4 pass, 1m20s, $1.23

- script: 75.0 % [30.0, 95.0] of 4 passed, 1 fail

- NO GATE: script: 1 of 4 failed

- fail order/lost [big]: mismatch: status: want lost, got <b>shipped</b> & paid
  https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736?a=1&b=|

r-1, 1m20s, $1.23
https://farm.example/r-1?a=1&b=2
`
			if diff := cmp.Diff(text, parts["text/plain"]); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
			for _, want := range []string{`got &lt;b&gt;shipped&lt;/b&gt; &amp; paid <a href="https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736?a=1&amp;b=%7c">Open the trace</a></li>`, `<a href="https://farm.example/r-1?a=1&amp;b=2">`} {
				if !strings.Contains(parts["text/html"], want) {
					t.Errorf("got the page\n%s\nwant %s in it", parts["text/html"], want)
				}
			}
		})
	}
}

// Either all get it, or none.
func TestMailThatIsRefused(t *testing.T) {
	busy := &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "busy"}
	unknown := &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	for name, test := range map[string]struct {
		refuse   []error
		password string
		state    store.NoticeState
		message  string
	}{
		"for now":               {[]error{busy}, "open sesame", store.NoticeWaiting, "busy"},
		"for ever":              {[]error{unknown}, "open sesame", store.NoticeFailed, "no such user"},
		"one receiver":          {[]error{nil, unknown}, "open sesame", store.NoticeFailed, "no such user"},
		"because of a password": {nil, "open barley", store.NoticeFailed, "535"},
		"a password is needed":  {nil, "", store.NoticeWaiting, "there is no secret P"},
		"not at all":            {nil, "open sesame", store.NoticeSent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, eval.MailSTARTTLS)
			p.refuse = test.refuse
			r := p.rig(t, eval.MailSTARTTLS)
			if r.secrets["P"] = test.password; test.password == "" {
				delete(r.secrets, "P")
			}
			r.end(summary("r-1"))
			r.deliver()
			n := r.one()
			if n.State != test.state || !strings.Contains(n.Message, test.message) || strings.Contains(n.Message, "barley") {
				t.Errorf("got %+v, want %s: %s", n, test.state, test.message)
			}
			if n.State != store.NoticeSent && len(p.mails) > 0 {
				t.Errorf("got a mail to %v, want none", p.mails[0].to)
			}
			if n.State == store.NoticeWaiting && len(test.refuse) > 0 {
				r.now = n.Due
				if n := r.deliver()[0]; n.State != store.NoticeSent {
					t.Errorf("got %+v at the second try, want it sent", n)
				}
			}
		})
	}
}

// A password goes to nobody but the server that the certificate is of.
func TestMailWithoutEncryption(t *testing.T) {
	p := open(t, eval.MailPlain) // offers no STARTTLS
	r := p.rig(t, eval.MailSTARTTLS)
	r.end(summary("r-1"))
	r.deliver()
	if n := r.one(); n.State != store.NoticeWaiting || !strings.Contains(n.Message, "STARTTLS") || len(p.mails) > 0 {
		t.Errorf("got %+v, want that no mail goes in the clear", n)
	}
	p = open(t, eval.MailSTARTTLS)
	r = p.rig(t, eval.MailSTARTTLS)
	r.roots = nil
	r.end(summary("r-2"))
	r.deliver()
	if n := r.one(); n.State != store.NoticeWaiting || !strings.Contains(n.Message, "certificate") || len(p.mails) > 0 {
		t.Errorf("got %+v, want that no mail goes to a stranger", n)
	}
}

func TestAMailServerThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := &postOffice{port: l.Addr().(*net.TCPAddr).Port}
	r := p.rig(t, eval.MailSTARTTLS)
	r.patience = 50 * time.Millisecond
	r.end(summary("r-1"))
	r.deliver()
	if n := r.one(); n.State != store.NoticeWaiting || n.Message != "mail by 127.0.0.1: no answer within 50ms" {
		t.Errorf("got %+v, want that it waits for no answer", n)
	}
}

// No name makes a header, a receiver or a tag.
func TestHostileTextInMail(t *testing.T) {
	p := open(t, eval.MailPlain)
	calm := p.rig(t, eval.MailPlain)
	calm.end(summary("r-1"))
	calm.deliver()
	header, parts := read(t, p.mails[0].body)
	tags := strings.Count(parts["text/html"], "<li>") - strings.Count(parts["text/html"], "<")
	for i, s := range hostile(t) {
		calm.end(told("r-hostile-"+strconv.Itoa(i), s))
		if n := calm.deliver()[0]; n.State != store.NoticeSent {
			t.Fatalf("%.80q: got %+v, want it sent", s, n)
		}
		got := p.mails[i+1]
		if len(got.to) != 2 || len(got.body) > 100_000 {
			t.Errorf("%.80q: got a mail to %v of %d bytes", s, got.to, len(got.body))
		}
		h, parts := read(t, got.body)
		for name := range h {
			if _, usual := header[name]; !usual {
				t.Errorf("%.80q: got the header %s: %q", s, name, h.Get(name))
			}
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
		if err != nil {
			t.Fatal(err)
		}
		harmless(t, subject)
		for line := range strings.SplitSeq(parts["text/plain"], "\n") {
			harmless(t, line)
		}
		page := parts["text/html"]
		// Five reasons, five failures with their links and how many more there are, for
		// one of each.
		if got := strings.Count(page, "<li>") - strings.Count(page, "<"); strings.Count(page, "<li>") != 12 || got != tags-9-2*4 {
			t.Errorf("%.80q: got other tags in\n%.2000s", s, page)
		}
	}
}
