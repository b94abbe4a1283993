package notify

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/redact"
)

// referenceRE finds references to secrets as farm files hold them.
var referenceRE = regexp.MustCompile(`\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// A reveal resolves references to secrets and remembers what it found, by name.
type reveal struct {
	lookup func(name string) (string, error)
	found  map[string]string
	err    error // of those that could not be had
}

func (r *reveal) text(s *string) {
	*s = referenceRE.ReplaceAllStringFunc(*s, func(reference string) string {
		name := referenceRE.FindStringSubmatch(reference)[1]
		value, err := r.lookup(name)
		if err != nil {
			r.err = errors.Join(r.err, err)
			return reference
		}
		value = strings.TrimSpace(value)
		r.found[name] = value
		return value
	})
}

// telling is from how many bytes a part of a secret address is a secret by itself:
// shorter ones are words such as "services".
const telling = 12

// address resolves an address. One that is a secret is hidden in parts too: what an
// error says of it is often its host alone, and what a server says its last part.
func (r *reveal) address(s *string) {
	references := referenceRE.FindAllStringSubmatch(*s, -1)
	r.text(s)
	u, err := url.Parse(*s)
	if len(references) == 0 || err != nil {
		return
	}
	name := references[0][1]
	for part, value := range map[string]string{"host": u.Host, "host name": u.Hostname(), "path": u.EscapedPath(), "query": u.RawQuery} {
		r.found[name+", "+part] = value
	}
	parts := strings.Split(u.Path, "/")
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	for i, part := range parts {
		if len(part) >= telling {
			r.found[fmt.Sprintf("%s, part %d", name, i)] = part
		}
	}
}

// reveal returns a target with its secrets resolved, and what takes those out of
// texts.
func (s *Sender) reveal(t eval.Target) (eval.Target, *redact.Redactor, error) {
	r := reveal{lookup: s.opts.Secret, found: map[string]string{}}
	switch {
	case t.Webhook != nil:
		of := *t.Webhook
		r.address(&of.URL)
		r.text(&of.Secret)
		t.Webhook = &of
	case t.Slack != nil:
		of := *t.Slack
		r.address(&of.URL)
		t.Slack = &of
	case t.GitHubStatus != nil:
		of := *t.GitHubStatus
		r.text(&of.Token)
		t.GitHubStatus = &of
	case t.Email != nil:
		of := *t.Email
		r.text(&of.User)
		r.text(&of.Password)
		t.Email = &of
	}
	return t, redact.New(r.found), r.err
}
