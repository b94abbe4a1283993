package farmfile

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Somebody who is told of runs that are done: one of webhook, slack, github_status and email.
type targetFile struct {
	strictyaml.At
	// Address that is posted to, with a signature by Standard Webhooks; or a reference to a secret.
	Webhook string `yaml:"webhook,omitempty"`
	// What the webhook is signed with: a reference to a secret, whose value is whsec_ and base64.
	Secret string `yaml:"secret,omitempty"`
	// Address of an incoming webhook of Slack, or of what understands the same; or a reference to a secret.
	Slack string `yaml:"slack,omitempty"`
	// The status of the commit that the suite is of, on GitHub.
	GitHubStatus *githubStatusFile `yaml:"github_status,omitempty"`
	// Mail through an SMTP server.
	Email *emailFile `yaml:"email,omitempty"`
	// What a run must have come to. Default: fail, error and inconclusive; of github_status: always.
	On []occasion `yaml:"on,omitempty"`
	// Globs of the names of suites. Default: all.
	Suites []string `yaml:"suites,omitempty"`
	// Also tell of runs that evalfarm run carries out alone. Default: false.
	Local bool `yaml:"local,omitempty"`
	// Address of a run for people, with {run} and {suite} where their names go.
	Link string `yaml:"link,omitempty"`
}

// The status of a commit on GitHub.
type githubStatusFile struct {
	strictyaml.At
	// The repository, as owner/name.
	Repository string `yaml:"repository"`
	// A reference to the secret of a token that may write commit statuses.
	Token string `yaml:"token"`
	// What tells the status from others of the commit. Default: evalfarm.
	Context string `yaml:"context,omitempty"`
	// Address of the API of another GitHub. Default: https://api.github.com.
	APIURL string `yaml:"api_url,omitempty"`
}

// Mail through an SMTP server.
type emailFile struct {
	strictyaml.At
	// The server: smtp://host, or smtp://host:port. Default of the port: 587 with starttls, 465 with implicit, 25 with none.
	SMTP string `yaml:"smtp"`
	// Who we are to the server; or a reference to a secret.
	User string `yaml:"user,omitempty"`
	// A reference to the secret of the password.
	Password string `yaml:"password,omitempty"`
	// The sender's address.
	From string `yaml:"from"`
	// The receivers' addresses.
	To []string `yaml:"to"`
	// How the connection is encrypted. Default: starttls.
	TLS mailTLS `yaml:"tls,omitempty"`
}

// occasion is what a run must have come to.
type occasion string

func (occasion) Choices() []string {
	var all []string
	for _, o := range eval.Occasions() {
		all = append(all, string(o))
	}
	return all
}

type mailTLS string

func (mailTLS) Choices() []string {
	return []string{string(eval.MailSTARTTLS), string(eval.MailImplicit), string(eval.MailPlain)}
}
