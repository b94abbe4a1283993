package eval

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"slices"
)

// A Target is somebody who is told of runs that are done. Exactly one of Webhook,
// Slack, GitHubStatus and Email is set. Strings that may be secrets are references
// to them: the process that sends resolves them.
type Target struct {
	// Name of the target, which its notices carry.
	Name string
	// On are the occasions on which it is told. None means none.
	On []Occasion
	// Suites are globs of the suites whose runs it is told of. None means all.
	Suites []string
	// Local targets are also told of runs that a single process carries out, without
	// a farm.
	Local bool
	// Link is an address of the run for people, with {run} and {suite} where their
	// names go. Empty means that there is none.
	Link string

	Webhook      *Webhook
	Slack        *Slack
	GitHubStatus *GitHubStatus
	Email        *Email
}

// A Webhook is posted to, with a signature by Standard Webhooks.
type Webhook struct {
	URL string
	// Secret that signs: "whsec_" and base64.
	Secret string
}

// Slack is an incoming webhook of Slack, or of what understands the same.
type Slack struct{ URL string }

// A GitHubStatus sets the status of the commit that a run's suite is of.
type GitHubStatus struct {
	// Repository is owner/name.
	Repository string
	Token      string
	// Context tells the status from others of the commit.
	Context string
	// APIURL is the address of the API, without a slash at its end.
	APIURL string
}

// An Email goes through an SMTP server.
type Email struct {
	Host string
	Port int
	// User and Password of the server; both empty mean that it wants none.
	User, Password string
	// From and To are addresses by RFC 5322.
	From string
	To   []string
	TLS  MailTLS
}

// MailTLS says how a connection to an SMTP server is encrypted.
type MailTLS string

const (
	MailSTARTTLS MailTLS = "starttls" // begun in the clear, then encrypted or given up
	MailImplicit MailTLS = "implicit" // encrypted from the first byte
	MailPlain    MailTLS = "none"     // never encrypted
)

// An Occasion is what a run must have come to for a target to be told.
type Occasion string

const (
	OnPass         Occasion = "pass"
	OnFail         Occasion = "fail"
	OnError        Occasion = "error"
	OnInconclusive Occasion = "inconclusive"
	// OnAlways is any verdict.
	OnAlways Occasion = "always"
	// OnChange is another verdict than that of the run of the suite that was done
	// before it.
	OnChange Occasion = "change"
)

// Occasions lists all of them.
func Occasions() []Occasion {
	return []Occasion{OnFail, OnError, OnInconclusive, OnPass, OnAlways, OnChange}
}

// Wants says whether the target is told of a run. Before is the verdict of the run
// of the suite that was done before it; a suite's first run is compared with a
// pass. Whom the run names is told whatever its suite is called.
func (t Target) Wants(run Run, before RunVerdict) bool {
	named := func(glob string) bool {
		ok, err := path.Match(glob, run.Suite)
		return ok && err == nil
	}
	switch {
	case len(run.Notify) > 0 && !slices.Contains(run.Notify, t.Name),
		len(run.Notify) == 0 && len(t.Suites) > 0 && !slices.ContainsFunc(t.Suites, named):
		return false
	}
	if before == "" {
		before = RunPass
	}
	return slices.ContainsFunc(t.On, func(o Occasion) bool {
		return o == OnAlways || o == OnChange && run.Verdict != before || string(o) == string(run.Verdict)
	})
}

// CheckAddress says why an address cannot be posted to; nil is that it can. What is
// not signed carries a secret, and goes in the clear to this machine only.
func CheckAddress(address string, signed bool) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("it is no address of http:// or https://")
	case u.User != nil:
		return errors.New("credentials do not belong into an address")
	case u.Scheme == "http" && !signed && !thisMachine(u.Hostname()):
		return errors.New("it holds or carries a secret, and http:// would show it to everybody on the way")
	default:
		return nil
	}
}

// thisMachine says whether a host is the one that we run on.
func thisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Kind is how the target is reached, as farm files call it.
func (t Target) Kind() string {
	switch {
	case t.Webhook != nil:
		return "webhook"
	case t.Slack != nil:
		return "slack"
	case t.GitHubStatus != nil:
		return "github_status"
	case t.Email != nil:
		return "email"
	default:
		return ""
	}
}
