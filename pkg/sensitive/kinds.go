package sensitive

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Groups of kinds.
const (
	Secrets  = "secrets"
	Personal = "personal"
)

// A Kind is one sort of sensitive value.
type Kind struct {
	Name, Group string
}

// Kinds lists what can be found, the more specific before the more general.
func Kinds() []Kind {
	var kinds []Kind
	for _, d := range detectors() {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}

// Known says whether a name is that of a kind or of a group.
func Known(name string) bool {
	return slices.ContainsFunc(Kinds(), func(k Kind) bool { return name == k.Name || name == k.Group })
}

// A detector finds one kind of value. Looking for a few literals first, and at
// their places only, is many times faster than a search by pattern.
type detector struct {
	Kind
	// literals, in lower case, are what a candidate begins with. Without any it
	// begins with one of the bytes in first, not behind a letter or digit.
	literals []string
	first    string
	// pattern of a candidate from its beginning on. If it has a group, the group is
	// the value.
	pattern *regexp.Regexp
	// accept decides on a candidate at text[start:end], and may move its ends. An
	// empty range refuses it.
	accept func(text string, start, end int) (int, int)
}

func (d detector) wanted(kinds []string) bool {
	return len(kinds) == 0 || slices.Contains(kinds, d.Name) || slices.Contains(kinds, d.Group)
}

// candidates yields where one may begin. Lower is the text in lower case.
func (d detector) candidates(text, lower string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, literal := range d.literals {
			for at := 0; ; at += len(literal) {
				i := strings.Index(lower[at:], literal)
				if i < 0 {
					break
				}
				if at += i; !yield(at) {
					return
				}
			}
		}
		if d.first == "" {
			return
		}
		for at := range len(text) {
			if strings.IndexByte(d.first, text[at]) >= 0 && (at == 0 || !isWord(text[at-1])) && !yield(at) {
				return
			}
		}
	}
}

// window bounds what a pattern looks at, in bytes.
const window = 512

// look decides on a candidate.
func (d detector) look(text string, at int) (start, end int) {
	found := d.pattern.FindStringSubmatchIndex(text[at:min(len(text), at+window)])
	if found == nil {
		return 0, 0
	}
	value := found[len(found)-2:] // the group, or the whole
	return d.accept(text, at+value[0], at+value[1])
}

const (
	numerals = "0123456789"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// detectors lists all of them; a value of two kinds is told as the first.
func detectors() []detector {
	return []detector{
		{Kind{"private_key", Secrets}, []string{"-----begin "}, "", privateKey, keyBlock},
		{Kind{"jwt", Secrets}, []string{"eyj"}, "", jwt, signedToken},
		{Kind{"aws_access_key", Secrets}, []string{"akia", "asia", "abia", "acca"}, "", awsAccessKey, alone},
		{Kind{"github_token", Secrets}, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, "", githubToken, alone},
		{Kind{"gitlab_token", Secrets}, []string{"gl"}, "", gitlabToken, alone},
		{Kind{"slack_token", Secrets}, []string{"xox", "xapp-", "hooks.slack.com/"}, "", slackToken, alone},
		{Kind{"stripe_key", Secrets}, []string{"sk_", "rk_", "whsec_"}, "", stripeKey, alone},
		{Kind{"anthropic_key", Secrets}, []string{"sk-ant-"}, "", anthropicKey, alone},
		{Kind{"openai_key", Secrets}, []string{"sk-"}, "", openAIKey, openAISecret},
		{Kind{"google_api_key", Secrets}, []string{"aiza", "gocspx-"}, "", googleAPIKey, alone},
		{Kind{"connection_string", Secrets}, []string{"://"}, "", connectionString, urlPassword},
		{Kind{"authorization", Secrets}, []string{"bearer ", "basic "}, "", authorization, credentials},
		{Kind{"password", Secrets}, []string{"passw", "passphrase", "pwd", "secret", "api", "access", "private", "auth", "refresh", "bearer", "session"}, "", assignment, password},
		{Kind{"email", Personal}, []string{"@"}, "", emailHost, mailbox},
		{Kind{"iban", Personal}, nil, capitals, iban, accountNumber},
		{Kind{"credit_card", Personal}, nil, numerals, card, cardNumber},
		{Kind{"us_ssn", Personal}, nil, numerals, ssn, socialSecurityNumber},
		{Kind{"phone", Personal}, nil, "+(" + numerals, phone, phoneNumber},
	}
}
