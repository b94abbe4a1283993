package notify

import (
	"context"
	"net/url"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxHeader is how many characters Slack lets a header block have. Those of other
// blocks, 3000, are never reached: each line is a block of its own, of maxText
// characters a text.
const maxHeader = 150

// slackMessage is what an incoming webhook of Slack takes. Text is what a
// notification shows.
type slackMessage struct {
	Text   string       `json:"text"`
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

// slackText of strangers is plain_text, in which Slack links and mentions nothing.
type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Verbatim keeps Slack from making links of what looks like some.
	Verbatim bool `json:"verbatim,omitempty"`
}

func (s *Sender) slack(ctx context.Context, to eval.Slack, m message) error {
	r, err := s.post(ctx, to.URL, false, nil, eval.Encode(slackOf(m)))
	if err != nil {
		return err
	}
	return r.failure(s.opts.Now())
}

func slackOf(m message) slackMessage {
	plain := func(s string) slackText { return slackText{Type: "plain_text", Text: slackEscape(s)} }
	section := func(s string) slackBlock {
		text := plain(s)
		return slackBlock{Type: "section", Text: &text}
	}
	header := plain(fits(m.headline(maxHeader), maxHeader))
	// Those that are only like Slack show the text alone, and would take an @ for a
	// mention.
	text := strings.ReplaceAll(slackEscape(m.headline(maxText)), "@", "＠")
	out := slackMessage{Text: text, Blocks: []slackBlock{{Type: "header", Text: &header}}}
	for _, group := range m.points() {
		for _, p := range group {
			out.Blocks = append(out.Blocks, section(p.Text))
			if p.URL != "" {
				out.Blocks = append(out.Blocks, slackBlock{Type: "context", Elements: []slackText{slackOpen(p.URL, "Open the trace")}})
			}
		}
	}
	footer := []slackText{plain(m.Data.Run + ", " + m.length() + ", " + m.cost())}
	if m.Data.URL != "" {
		footer = append(footer, slackOpen(m.Data.URL, "Open the run"))
	}
	out.Blocks = append(out.Blocks, slackBlock{Type: "context", Elements: footer})
	return out
}

// slackOpen is a link that says what it opens.
func slackOpen(address, what string) slackText {
	return slackText{Type: "mrkdwn", Text: "<" + slackLink(address) + "|" + what + ">", Verbatim: true}
}

// slackEscape escapes what Slack's format gives a meaning to: without < there is no
// mention and no link.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// slackLink is an address inside <…|…>.
func slackLink(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(u.String())
}

// fits cuts a text so that it has at most limit characters once it is escaped.
func fits(s string, limit int) string {
	used := 0
	for i, r := range s {
		used += len([]rune(slackEscape(string(r))))
		if used > limit {
			return s[:i]
		}
	}
	return s
}
