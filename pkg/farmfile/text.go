package farmfile

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The texts of the format. Those that may hold a password are not quoted in what
// is wrong with them.
type (
	// word is any text but nothing.
	word string
	// redisURL and storePath may hold references to secrets.
	redisURL  string
	storePath string
	// blobsURL is the base of an API.
	blobsURL string
	// serverURL is the base of an API.
	serverURL string
	// traceURL is a template.
	traceURL string
	// listenAddress is a host, which may be empty, and a port.
	listenAddress string

	logLevel  string
	logFormat string
)

func (logLevel) Choices() []string  { return []string{"debug", "info", "warn", "error"} }
func (logFormat) Choices() []string { return []string{"text", "json"} }

const (
	redisPattern  = `^(redis|rediss|unix)://`
	blobsPattern  = `^(https?|file|s3)://`
	serverPattern = `^https?://`
	tracePattern  = `^https?://.*\{trace_id\}`
	listenPattern = `:[0-9]+$`
	agePattern    = `^([0-9]+d|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`
	wordPattern   = `.`
)

func (word) Pattern() string          { return wordPattern }
func (redisURL) Pattern() string      { return redisPattern }
func (storePath) Pattern() string     { return wordPattern }
func (blobsURL) Pattern() string      { return blobsPattern }
func (serverURL) Pattern() string     { return serverPattern }
func (traceURL) Pattern() string      { return tracePattern }
func (listenAddress) Pattern() string { return listenPattern }

// Pattern of its text.
func (Age) Pattern() string { return agePattern }

// secretRE finds a reference to a secret, as [suite.Evaluate] leaves it.
var secretRE = regexp.MustCompile(`\$\{\{ secrets\.([A-Za-z_][A-Za-z0-9_]*) \}\}`)

func (w *word) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*w = word(plain(d, n, "a text"))
}

// plain is a text without references to secrets, which only some places resolve.
func plain(d *strictyaml.Decoder, n *strictyaml.Node, want string) string {
	switch {
	case n.Kind != strictyaml.String && !n.Loose:
		d.Want(n, want)
	case n.Text == "":
		d.Report(n.Pos, "want "+want+", got nothing", "leave the key out for its default")
	case secretRE.MatchString(n.Text):
		d.Report(n.Pos, "secrets cannot be used here", "redis, store, servers and api_keys may refer to secrets")
	default:
		return n.Text
	}
	return ""
}

func (u *redisURL) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.String && !n.Loose {
		d.Want(n, "the URL of a Redis, as a string")
		return
	}
	// A secret is known where it is used; anything may stand for it until then.
	err := broker.CheckURL(secretRE.ReplaceAllString(n.Text, "secret"))
	if err != nil && secretRE.FindString(n.Text) != n.Text {
		d.Report(n.Pos, err.Error(), "")
		return
	}
	*u = redisURL(n.Text)
}

func (p *storePath) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if scheme, _, ok := strings.Cut(n.Text, "://"); ok && (n.Kind == strictyaml.String || n.Loose) {
		if scheme != "postgres" && scheme != "postgresql" {
			d.Report(n.Pos, fmt.Sprintf("a store is a SQLite file or a PostgreSQL database, not %s", strictyaml.Quote(scheme+"://…")), "write the path of a file on a local disk, or postgres://USER:PASSWORD@HOST:PORT/DATABASE")
			return
		}
		*p = storePath(n.Text)
		return
	}
	if secretRE.MatchString(n.Text) {
		*p = storePath(n.Text)
		return
	}
	*p = storePath(plain(d, n, "the path of a file"))
}

func (u *serverURL) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	text := plain(d, n, "the URL of a farm")
	if text == "" {
		return
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" {
		d.Report(n.Pos, "this is no address of a farm", "http:// or https://, a host and a port, without credentials")
		return
	}
	*u = serverURL(text)
}

func (u *traceURL) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	text := plain(d, n, "the URL of a trace")
	if text == "" {
		return
	}
	if _, err := eval.ParseTraceURL(text); err != nil {
		d.Report(n.Pos, "this is no address of a trace: "+err.Error(), "such as https://jaeger.example.com/trace/{trace_id}; a { of its own is %7B")
		return
	}
	*u = traceURL(text)
}

func (u *blobsURL) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	text := plain(d, n, "the URL of the scheduler")
	if text == "" {
		return
	}
	at, err := url.Parse(text)
	if err == nil && (at.Scheme == "file" && at.Host == "" && strings.HasPrefix(at.Path, "/") || at.Scheme == "s3" && at.Host != "" && at.User == nil) {
		*u = blobsURL(text) // looked at more closely by who opens it
		return
	}
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		d.Report(n.Pos, "this is no address of a scheduler, nor of a folder or a bucket", "http:// or https://, a host and a port, without credentials; or file:///folder, or s3://bucket/prefix?endpoint=URL&region=NAME")
		return
	}
	*u = blobsURL(text)
}

func (a *listenAddress) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	text := plain(d, n, "an address such as 127.0.0.1:8090")
	if text == "" {
		return
	}
	_, port, err := net.SplitHostPort(text)
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || strconv.FormatUint(number, 10) != port {
		d.Report(n.Pos, "want an address such as 127.0.0.1:8090, got "+strictyaml.Quote(text), "a host, a colon and a port; :8090 is every address of this machine")
		return
	}
	*a = listenAddress(text)
}

// Age is how long something is kept, in nanoseconds: days, as 30d, or a duration,
// as 720h.
type Age time.Duration

var ageRE = regexp.MustCompile(agePattern)

// mostDays keeps an age within what a duration can hold.
const mostDays = 100_000

// UnmarshalNode decodes an age that is longer than nothing.
func (a *Age) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	const want = "a time such as 30d or 720h"
	if n.Kind == strictyaml.Number {
		d.Report(n.Pos, "want "+want+", got "+n.Describe(), "a time has a unit: "+n.Text+"d")
		return
	}
	if n.Kind != strictyaml.String || !ageRE.MatchString(n.Text) {
		d.Want(n, want)
		return
	}
	var got time.Duration
	var err error
	if days, ok := strings.CutSuffix(n.Text, "d"); ok {
		var count int
		if count, err = strconv.Atoi(days); count <= mostDays {
			got = time.Duration(count) * 24 * time.Hour
		}
	} else {
		got, err = time.ParseDuration(n.Text)
	}
	switch {
	case err != nil || got < 0:
		d.Want(n, want)
	case got == 0:
		d.Report(n.Pos, "want "+want+", longer than nothing, got "+strictyaml.Quote(n.Text), "")
	default:
		*a = Age(got)
	}
}
