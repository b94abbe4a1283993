package farmfile

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

const (
	defaultContext = "evalfarm"
	defaultAPI     = "https://api.github.com"
	// maxReceivers of one mail: a list has an address of its own.
	maxReceivers = 20
	// maxContext is how long GitHub lets a context be.
	maxContext = 255
)

var (
	targetNameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	repositoryRE = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}$`)
	referenceRE  = regexp.MustCompile(`^\$\{\{\s*secrets\.[A-Za-z_][A-Za-z0-9_]*\s*\}\}$`)
)

// notifications builds the targets, in the order of their names.
func (b *build) notifications(f *farmFile) {
	for _, name := range slices.Sorted(maps.Keys(f.Notifications)) {
		entry := f.Notifications[name]
		if entry.Node().Kind != strictyaml.Map {
			continue // reported
		}
		if !targetNameRE.MatchString(name) {
			b.report(f.Node().Place("notifications", name), strictyaml.Quote(name)+" is no name for a target", "letters, digits, dots, dashes and underscores, at most 64")
		}
		b.out.Targets = append(b.out.Targets, b.target(name, &entry))
	}
}

func (b *build) target(name string, f *targetFile) eval.Target {
	at := f.Node()
	t := eval.Target{Name: name, Suites: f.Suites, Local: f.Local, Link: f.Link}
	for _, o := range f.On {
		t.On = append(t.On, eval.Occasion(o))
	}
	b.oneKind(at)
	if f.Webhook != "" {
		t.Webhook = &eval.Webhook{URL: f.Webhook, Secret: f.Secret}
		b.address(at.Get("webhook"), true)
	}
	if f.Slack != "" {
		t.Slack = &eval.Slack{URL: f.Slack}
		b.address(at.Get("slack"), false)
	}
	if f.GitHubStatus != nil {
		t.GitHubStatus = b.githubStatus(f.GitHubStatus)
	}
	if f.Email != nil {
		t.Email = b.email(f.Email)
	}
	switch on := at.Get("on"); {
	case on == nil && t.GitHubStatus != nil:
		// A status that never turns green keeps a commit from being merged.
		t.On = []eval.Occasion{eval.OnAlways}
	case on == nil:
		t.On = []eval.Occasion{eval.OnFail, eval.OnError, eval.OnInconclusive}
	case on.Kind == strictyaml.List && len(on.Items) == 0:
		b.report(on.Pos, "the target is told of nothing", "leave the target out, or say when: "+strings.Join(occasion("").Choices(), ", "))
	}
	if n := at.Get("suites"); n != nil && n.Kind == strictyaml.List {
		b.globs(n)
	}
	if n := at.Get("link"); n != nil && n.Kind == strictyaml.String && !n.Bad {
		b.link(n)
	}
	return t
}

// oneKind wants a target to be reached in one way.
func (b *build) oneKind(at *strictyaml.Node) {
	kinds := []string{"webhook", "slack", "github_status", "email"}
	var first string
	for _, kind := range kinds {
		switch n := at.Get(kind); {
		case n == nil:
		case first != "":
			b.report(at.Place(kind), "a target is reached in one way, and this one has "+first+" already", "make two targets of it")
		default:
			first = kind
			if n.Kind == strictyaml.String && n.Text == "" && !n.Bad {
				b.report(n.Pos, kind+" is empty", "an address, or a reference to a secret: ${{ secrets.NAME }}")
			}
		}
	}
	if first == "" {
		b.report(at.Pos, "the target cannot be reached", "say how: one of "+strings.Join(kinds, ", "))
	}
	secret := at.Get("secret")
	switch {
	case first == "webhook" && secret == nil:
		b.report(at.Pos, `missing key "secret"`, "a webhook is signed: secret: ${{ secrets.NAME }}, whose value is whsec_ and base64")
	case secret != nil && first != "" && first != "webhook":
		b.report(at.Place("secret"), "only a webhook has a secret", "")
	case secret != nil:
		b.reference(secret, "a secret")
	}
}

// reference wants a reference to a secret, and shows nothing else.
func (b *build) reference(n *strictyaml.Node, what string) {
	if n == nil || n.Bad || n.Kind != strictyaml.String || referenceRE.MatchString(n.Text) {
		return
	}
	b.all = append(b.all, suite.Secretive(n.Problem(what+" is a reference to a secret, never the secret itself",
		"write ${{ secrets.NAME }}: who sends finds it in its environment")))
}

// address wants an address to post to, whose rest may be a secret. Only what is
// signed may go over a network in the clear.
func (b *build) address(n *strictyaml.Node, signed bool) {
	if n == nil || n.Bad || n.Kind != strictyaml.String || n.Text == "" || strings.Contains(n.Text, "${{ secrets.") || referenceRE.MatchString(n.Text) {
		return // known to who sends
	}
	if err := eval.CheckAddress(n.Text, signed); err != nil {
		// The path of such an address is often all that one has to know.
		b.all = append(b.all, suite.Secretive(n.Problem(err.Error(), "https://, a host and a path; what nobody should see is ${{ secrets.NAME }}")))
	}
}

func (b *build) globs(n *strictyaml.Node) {
	if len(n.Items) == 0 {
		b.report(n.Pos, "the target is told of no suite", "leave it out for all suites")
	}
	for _, item := range n.Items {
		if _, err := path.Match(item.Text, ""); item.Kind == strictyaml.String && (err != nil || item.Text == "") {
			b.report(item.Pos, strictyaml.Quote(item.Text)+" is no name of a suite and no glob of them", "* stands for any text, […] for one character of several")
		}
	}
}

func (b *build) link(n *strictyaml.Node) {
	plain := strings.NewReplacer("{run}", "r", "{suite}", "s").Replace(n.Text)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(plain, "{}") {
		b.report(n.Pos, strictyaml.Quote(n.Text)+" is no address of a run", "such as https://farm.example.com/runs/{run}; {run} and {suite} are filled in")
	}
}

func (b *build) githubStatus(f *githubStatusFile) *eval.GitHubStatus {
	at := f.Node()
	g := &eval.GitHubStatus{
		Repository: f.Repository, Token: f.Token, Context: cmp.Or(f.Context, defaultContext), APIURL: cmp.Or(strings.TrimRight(f.APIURL, "/"), defaultAPI),
	}
	if n := at.Get("repository"); n != nil && n.Kind == strictyaml.String && !n.Bad && !repositoryRE.MatchString(n.Text) {
		b.report(n.Pos, strictyaml.Quote(n.Text)+" is no repository", "owner/name")
	}
	b.reference(at.Get("token"), "a token")
	if len(g.Context) > maxContext {
		b.report(at.Place("context"), fmt.Sprintf("the context has %d bytes, and GitHub takes %d", len(g.Context), maxContext), "")
	}
	if n := at.Get("api_url"); n != nil && n.Kind == strictyaml.String && !n.Bad {
		before := len(b.all)
		b.all = append(b.all, suite.BaseURLProblems(n)...)
		if len(b.all) == before {
			b.address(n, false)
		}
	}
	return g
}

func (b *build) email(f *emailFile) *eval.Email {
	at := f.Node()
	e := &eval.Email{User: f.User, Password: f.Password, From: f.From, To: f.To, TLS: cmp.Or(eval.MailTLS(f.TLS), eval.MailSTARTTLS)}
	if n := at.Get("smtp"); n != nil && n.Kind == strictyaml.String && !n.Bad {
		var ok bool
		if e.Host, e.Port, ok = mailServer(n.Text, e.TLS); !ok {
			// Somebody may have written the password into it.
			b.all = append(b.all, suite.Secretive(n.Problem("smtp is no mail server", "smtp://host, or smtp://host:port; user and password have keys of their own")))
		}
	}
	user, password := at.Get("user"), at.Get("password")
	switch {
	case (user == nil) != (password == nil):
		b.report(at.Pos, "user and password go together", "leave both out for a server that wants none")
	case user != nil && e.TLS == eval.MailPlain:
		b.report(at.Place("password"), "a password is not sent in the clear", "tls: starttls, or implicit")
	}
	b.reference(password, "a password")
	if n := at.Get("from"); n != nil {
		b.mailbox(n)
	}
	if n := at.Get("to"); n != nil && n.Kind == strictyaml.List {
		if len(n.Items) == 0 || len(n.Items) > maxReceivers {
			b.report(n.Pos, fmt.Sprintf("a mail has 1 to %d receivers, got %d", maxReceivers, len(n.Items)), "a mailing list is one")
		}
		for _, item := range n.Items {
			b.mailbox(item)
		}
	}
	return e
}

// mailServer reads smtp://host:port.
func mailServer(text string, how eval.MailTLS) (host string, port int, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", 0, false
	}
	if u.Port() == "" {
		return u.Hostname(), map[eval.MailTLS]int{eval.MailSTARTTLS: 587, eval.MailImplicit: 465, eval.MailPlain: 25}[how], true
	}
	port, err = strconv.Atoi(u.Port())
	return u.Hostname(), port, err == nil && port > 0 && port < 1<<16 && net.JoinHostPort(u.Hostname(), u.Port()) == u.Host
}

func (b *build) mailbox(n *strictyaml.Node) {
	if n.Kind != strictyaml.String || n.Bad {
		return
	}
	if _, err := mail.ParseAddress(n.Text); err != nil {
		b.report(n.Pos, strictyaml.Quote(n.Text)+" is no address of a mailbox", "such as farm@example.com, or Farm <farm@example.com>")
	}
}
