package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// headBytes is how much of an answer is read: more than a message shows, so that no
// secret in it is cut before it is found.
const headBytes = 2048

// newClient makes a client that verifies certificates and follows no redirects: a
// signature, a token and an address are for the host that the farm file names.
func newClient(roots *x509.CertPool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A reply is what a server answered.
type reply struct {
	code   int
	header http.Header
	// head of the body, of what is no success.
	head string
}

// post sends a JSON document. Signed says that the address may be http:// of
// another machine. What the error says of the address is its host at most.
func (s *Sender) post(ctx context.Context, address string, signed bool, header http.Header, body []byte) (reply, error) {
	if err := eval.CheckAddress(address, signed); err != nil {
		return reply{}, never("the address is not used: " + err.Error())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return reply{}, never("the address cannot be used")
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "evalfarm/"+s.opts.Version)
	resp, err := s.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", s.opts.Patience)
		}
		return reply{}, fmt.Errorf("post to %s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	r := reply{code: resp.StatusCode, header: resp.Header}
	if !r.ok() {
		head, _ := io.ReadAll(io.LimitReader(resp.Body, headBytes)) // the code says enough
		r.head = string(head)
	}
	return r, nil
}

func (r reply) ok() bool { return r.code >= 200 && r.code < 300 }

// failure is why a reply is no success, and whether another try may be one.
func (r reply) failure(now time.Time) error {
	f := &failure{message: fmt.Sprintf("the answer is %d %s", r.code, http.StatusText(r.code)), state: store.NoticeFailed}
	if r.head != "" {
		f.message += ": " + r.head
	}
	switch {
	case r.ok():
		return nil
	case r.code >= 300 && r.code < 400:
		f.message = fmt.Sprintf("the answer is %d, a redirect, and those are not followed; name the address itself", r.code)
	case r.code == http.StatusRequestTimeout, r.code == http.StatusTooEarly, r.code == http.StatusTooManyRequests, r.code >= 500:
		f.state, f.after = store.NoticeWaiting, retryAfter(r.header, now)
	}
	return f
}
