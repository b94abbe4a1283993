package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/textproto"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// page is the HTML form of a message.
const page = `<!doctype html><html><body>
<h3>{{.Headline}}</h3>
{{range .Groups}}<ul>{{range .}}<li>{{.Text}}{{if .URL}} <a href="{{.URL}}">Open the trace</a>{{end}}</li>{{end}}</ul>
{{end}}<p>{{.Footer}}{{if .URL}} <a href="{{.URL}}">Open the run</a>{{end}}</p>
</body></html>
`

// email sends a message through an SMTP server. Either all receivers get it, or
// none.
func (s *Sender) email(ctx context.Context, to eval.Email, m message) error {
	letter, err := s.letter(to, m)
	if err != nil {
		return never("write the mail: " + err.Error())
	}
	client, err := s.mailer(ctx, to)
	if err != nil {
		return never("the mail server's settings: " + err.Error())
	}
	err = client.DialAndSendWithContext(ctx, letter)
	switch {
	case err == nil, letter.IsDelivered():
		return nil // what goes wrong after the server has taken it
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("mail by %s: no answer within %s", to.Host, s.opts.Patience)
	}
	err = fmt.Errorf("mail by %s: %w", to.Host, err)
	if refused(err) {
		return never(err.Error())
	}
	return err
}

// letter is a message as a mail: plain text, and the same in HTML.
func (s *Sender) letter(to eval.Email, m message) (*mail.Msg, error) {
	letter := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := letter.From(to.From); err != nil {
		return nil, err
	}
	if err := letter.To(to.To...); err != nil {
		return nil, err
	}
	// One line without control characters, so it cannot be two headers.
	letter.Subject(m.headline(maxText))
	letter.SetDateWithValue(s.opts.Now())
	// The same in every try, so that a mailbox can drop a duplicate.
	letter.SetMessageIDWithValue(m.id + "@evalfarm")
	letter.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody answers it by a machine
	groups := m.points()
	footer := m.Data.Run + ", " + m.length() + ", " + m.cost()

	var text strings.Builder
	text.WriteString(m.headline(maxText) + "\n")
	for _, group := range groups {
		text.WriteString("\n")
		for _, p := range group {
			text.WriteString("- " + p.Text + "\n")
			if p.URL != "" {
				text.WriteString("  " + p.URL + "\n")
			}
		}
	}
	text.WriteString("\n" + footer + "\n")
	if m.Data.URL != "" {
		text.WriteString(m.Data.URL + "\n")
	}
	letter.SetBodyString(mail.TypeTextPlain, text.String())

	parsed, err := template.New("mail").Parse(page)
	if err != nil {
		return nil, err
	}
	return letter, letter.AddAlternativeHTMLTemplate(parsed, struct {
		Headline, Footer, URL string
		Groups                [][]point
	}{m.headline(maxText), footer, m.Data.URL, groups})
}

// mailer makes the client of a server, for one mail.
func (s *Sender) mailer(ctx context.Context, to eval.Email) (*mail.Client, error) {
	secure := &tls.Config{ServerName: to.Host, RootCAs: s.opts.RootCAs, MinVersion: tls.VersionTLS12}
	options := []mail.Option{
		mail.WithPort(to.Port), mail.WithTLSConfig(secure),
		// The library renews its own deadline step by step; a connection ends with its
		// context, before that.
		mail.WithTimeout(2 * s.opts.Patience),
		mail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
			var conn net.Conn
			var err error
			if to.TLS == eval.MailImplicit {
				conn, err = (&tls.Dialer{Config: secure}).DialContext(dialing, network, address)
			} else {
				conn, err = new(net.Dialer).DialContext(dialing, network, address)
			}
			if err == nil {
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		}),
	}
	if to.TLS == eval.MailSTARTTLS {
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	} else {
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if to.User != "" {
		options = append(options, mail.WithUsername(to.User), mail.WithPassword(to.Password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	return mail.NewClient(to.Host, options...)
}

// refused says whether a server has answered that it never will (RFC 5321: 5yz).
func refused(err error) bool {
	if sent, ok := errors.AsType[*mail.SendError](err); ok {
		return sent.ErrorCode() >= 500
	}
	answer, ok := errors.AsType[*textproto.Error](err)
	return ok && answer.Code >= 500
}
