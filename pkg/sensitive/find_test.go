package sensitive_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/sensitive"
)

// Keys are put together here, so that no scanner takes this file for a leak.
var (
	random36 = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	signed   = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dBjftJeZ4CVPmB92K27uhbUJU1p1r"
	keyBody  = "\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // "kind value" of each, joined by line breaks
	}{
		{name: "AWS access key", text: "key AKIA" + "IOSFODNN7EXAMPLE.", want: "aws_access_key AKIA" + "IOSFODNN7EXAMPLE"},
		{name: "AWS temporary key", text: "ASIA" + "IOSFODNN7EXAMPLE", want: "aws_access_key ASIA" + "IOSFODNN7EXAMPLE"},
		{name: "part of a longer word is no AWS key", text: "XAKIA" + "IOSFODNN7EXAMPLE AKIA" + "IOSFODNN7EXAMPLEX"},
		{name: "too short for an AWS key", text: "AKIA" + "IOSFODNN7"},
		{name: "GitHub tokens", text: "ghp_" + random36 + " gho_" + random36, want: "github_token ghp_" + random36 + "\ngithub_token gho_" + random36},
		{name: "GitHub fine-grained token", text: "github_pat_" + random36[:22] + "_" + random36 + random36[:23], want: "github_token github_pat_" + random36[:22] + "_" + random36 + random36[:23]},
		{name: "GitHub's prefix alone", text: "tokens begin with ghp_ or ghp_short"},
		{name: "GitLab token", text: "glpat-" + random36[:20], want: "gitlab_token glpat-" + random36[:20]},
		{name: "a word that begins with gl", text: "glat-and-glorious-weather-in-summer"},
		{name: "Slack token", text: "xoxb-" + "1234567890-abcdefGHIJ", want: "slack_token xoxb-" + "1234567890-abcdefGHIJ"},
		{name: "Slack webhook", text: "https://hooks.slack.com/services/" + "T0001/B0001/" + random36[:24], want: "slack_token hooks.slack.com/services/" + "T0001/B0001/" + random36[:24]},
		{name: "Stripe key", text: "sk_live_" + random36[:24], want: "stripe_key sk_live_" + random36[:24]},
		{name: "Stripe's publishable key", text: "pk_live_" + random36[:24]},
		{name: "Anthropic key", text: "ANTHROPIC_API_KEY=sk-ant-" + "api03-" + random36, want: "anthropic_key sk-ant-" + "api03-" + random36},
		{name: "OpenAI project key", text: "sk-" + "proj-" + random36, want: "openai_key sk-" + "proj-" + random36},
		{name: "OpenAI legacy key", text: "sk-" + random36 + random36[:12], want: "openai_key sk-" + random36 + random36[:12]},
		{name: "a class name that begins with sk", text: "sk-spinner-container-fading-circle sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{name: "Google API key", text: "AIza" + random36[:35], want: "google_api_key AIza" + random36[:35]},
		{name: "JWT", text: "token " + signed + ",", want: "jwt " + signed},
		{name: "three dotted words are no JWT", text: "eyJhbGciXXXX.eyJzdWIi.c2lnbmF0dXJl"},
		{name: "private key", text: "x -----BEGIN RSA " + "PRIVATE KEY-----" + keyBody + "-----END RSA PRIVATE KEY----- y", want: "private_key -----BEGIN RSA " + "PRIVATE KEY-----" + keyBody},
		{name: "private key inside JSON", text: `{"key":"-----BEGIN ` + `PRIVATE KEY-----` + strings.ReplaceAll(keyBody, "\n", `\n`) + `-----END PRIVATE KEY-----"}`, want: "private_key -----BEGIN " + "PRIVATE KEY-----" + strings.ReplaceAll(keyBody, "\n", `\n`)},
		{name: "a public key is public", text: "-----BEGIN PUBLIC KEY-----" + keyBody + "-----END PUBLIC KEY-----"},
		{name: "talk of private keys", text: "A file with -----BEGIN PRIVATE KEY----- in its first line holds a key."},
		{name: "password in an environment", text: "DB_PASSWORD=Tr0ub4dor&x", want: "password Tr0ub4dor"},
		{name: "password in JSON", text: `{"password": "hunter22!"}`, want: "password hunter22!"},
		{name: "password in JSON in JSON", text: `{"text":"{\"password\":\"hunter22!\"}"}`, want: "password hunter22!"},
		{name: "password in YAML", text: "passwd: 's3cr3t-pw'", want: "password s3cr3t-pw"},
		{name: "secret in camel case", text: `clientSecret := "a8f5f167f44f4964"`, want: "password a8f5f167f44f4964"},
		{name: "API key in a query", text: "GET /v1?api_key=a8f5f167f44f&x=1", want: "password a8f5f167f44f"},
		{name: "types are no passwords", text: `password: string, {"password":{"type":"string"}}, api_key: required`},
		{name: "placeholders are no passwords", text: "password=$PASSWORD1 password=********1 password={{pw1}} password=<your1password> password=xxxxxxxx1 password=[secret A1]"},
		{name: "talk of passwords", text: "Your password must have 8 characters. Reset password: https://shop.test/reset"},
		{name: "counts of tokens", text: `{"max_tokens": 4096, "tokens": 12345, "next_page_token": "abc123def456"}`},
		{name: "bearer token", text: "Authorization: Bearer " + random36, want: "authorization " + random36},
		{name: "basic credentials", text: "authorization: basic dXNlcjpodW50ZXIy", want: "authorization dXNlcjpodW50ZXIy"},
		{name: "talk of schemes", text: "Use Bearer authentication_for_everything, or Basic understanding"},
		{name: "connection strings", text: "postgres://app:s3cret@db:5432/x redis://:topsecret@cache", want: "connection_string s3cret\nconnection_string topsecret"},
		{name: "connection strings without a password", text: "postgres://app@db/x https://host:8080/a@b postgres://u:password@db postgres://u:${PW}@db"},

		{name: "email", text: "Write to <jane.doe+x@mail.example.org>.", want: "email jane.doe+x@mail.example.org"},
		{name: "email in JSON and in a query", text: `{"email":"a@b.de"} https://x.test/?m=c@d.eu`, want: "email a@b.de\nemail c@d.eu"},
		{name: "email behind mailto", text: "mailto:jane@example.com", want: "email jane@example.com"},
		{name: "no emails", text: "user@host @mention pkg@1.2.3 logo@2x.png git@github.com:org/repo a@b.de@c .@b.de a..b@c.de https://user@h.example.com/"},
		{name: "phones", text: "+1 415 555 0132, +49 (30) 1234567, +33.1.23.45.67.89; (415) 555-0132 or 415-555-0133", want: "phone +1 415 555 0132\nphone +49 (30) 1234567\nphone +33.1.23.45.67.89\nphone (415) 555-0132\nphone 415-555-0133"},
		{name: "phone and a date", text: "+1 415 555 0132 2024-08-15", want: "phone +1 415 555 0132"},
		{name: "no phones", text: "+2 items, +1500000, 2024-08-15T12:00:00+02:00, 12:00+0200, ORD-415-555-0132, 1.5e+10, +1234567890123456789, 123-456-7890"},
		{name: "credit cards", text: "4111 1111 1111 1111, 5555-5555-5555-4444 378282246310005 3782 822463 10005 6011111111111117", want: "credit_card 4111 1111 1111 1111\ncredit_card 5555-5555-5555-4444\ncredit_card 378282246310005\ncredit_card 3782 822463 10005\ncredit_card 6011111111111117"},
		{name: "credit card with what is around it", text: "2 4111 1111 1111 1111 123 and [4111111111111111,12] 4111111111111111/12.", want: "credit_card 4111 1111 1111 1111\ncredit_card 4111111111111111\ncredit_card 4111111111111111"},
		{name: "no credit cards", text: "4111111111111112 ORD-4111111111111111 #4111111111111111 0.4111111111111111 1723723200000 1723723200000000 41111111111111110000 9111111111111111"},
		{name: "IBANs", text: "DE89 3704 0044 0532 0130 00 GB82WEST12345698765432, NO9386011117947", want: "iban DE89 3704 0044 0532 0130 00\niban GB82WEST12345698765432\niban NO9386011117947"},
		{name: "no IBANs", text: "DE89370400440532013001 DE8937040044053201300 XX82WEST12345698765432 SKU12345678901234567890 GB82WEST123456987654321"},
		{name: "social security numbers", text: "SSN 078-05-1120, 899-99-9999.", want: "us_ssn 078-05-1120\nus_ssn 899-99-9999"},
		{name: "no social security numbers", text: "000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000 2024-08-1523 A-123-45-6789 123-45-67890"},

		{name: "what tools answer", text: `{"id":"ORD-20240815","uuid":"550e8400-e29b-41d4-a716-446655440000","decimal_uuid":"12345678-1234-4123-8123-123456789012",` +
			`"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","at":"2024-08-15T12:30:00.123Z","ms":1723723200000,"ns":1723723200000000000,` +
			`"price":1299.99,"big":12345678901234567890,"ip":"192.168.0.1","version":"1.2.3","tracking":"1Z999AA10123456784","isbn":"978-3-16-148410-0","etag":"W/\"0815\""}`},
		{name: "no text", text: ""},
		{name: "secrets come before what is in them", text: "https://u:p4ss@db.example.com", want: "connection_string p4ss"},
		{name: "of two kinds the specific one", text: "Authorization: Bearer " + signed, want: "jwt " + signed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, f := range sensitive.Find(test.text, nil) {
				got = append(got, f.Kind+" "+test.text[f.Start:f.End])
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindsRestrict(t *testing.T) {
	text := "a@example.org AKIA" + "IOSFODNN7EXAMPLE 078-05-1120"
	tests := []struct {
		name  string
		kinds []string
		want  []string
	}{
		{name: "all", want: []string{"email", "aws_access_key", "us_ssn"}},
		{name: "a group", kinds: []string{sensitive.Secrets}, want: []string{"aws_access_key"}},
		{name: "a group and a kind", kinds: []string{sensitive.Secrets, "email"}, want: []string{"email", "aws_access_key"}},
		{name: "a kind that is not there", kinds: []string{"iban"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, f := range sensitive.Find(text, test.kinds) {
				got = append(got, f.Kind)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("kinds differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	for name, want := range map[string]bool{"email": true, "secrets": true, "personal": true, "Email": false, "": false} {
		if got := sensitive.Known(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
	for _, k := range sensitive.Kinds() {
		if k.Group != sensitive.Secrets && k.Group != sensitive.Personal {
			t.Errorf("%s: got the group %q, want one of two", k.Name, k.Group)
		}
	}
}

func TestMaskedShowsLittle(t *testing.T) {
	for text, want := range map[string]string{
		"password: hunt3r":                   "…",
		"password: hunter22":                 "hu…",
		"jane.doe@example.com":               "ja…om",
		"Authorization: Bearer " + random36:  "a1…R8",
		"sk-ant-" + "api03-" + random36[:20]: "sk…J0",
	} {
		found := sensitive.Find(text, nil)
		if len(found) != 1 || found[0].Masked != want {
			t.Errorf("%q: got %+v, want one masked as %q", text, found, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a@b.de 4111 1111 1111 1111 +1 415 555 0132 DE89 3704 0044 0532 0130 00")
	f.Add("password=\"\\\"hunter22 postgres://:\xff@x Bearer " + signed)
	f.Add("-----BEGIN PRIVATE KEY-----" + keyBody)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, found := range sensitive.Find(text, nil) {
			if found.Start < end || found.End <= found.Start || found.End > len(text) {
				t.Fatalf("got %+v behind %d in %d bytes, want findings in order and inside", found, end, len(text))
			}
			end = found.End
			if utf8.RuneCountInString(found.Masked) > 5 {
				t.Errorf("got the mask %q, want at most four characters shown", found.Masked)
			}
			if again := sensitive.Find(text, []string{found.Kind}); !slices.ContainsFunc(again, func(f sensitive.Finding) bool { return f.Kind == found.Kind }) {
				t.Errorf("got no %s when it alone is looked for", found.Kind)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	record := `{"id":"ORD-20240815","uuid":"550e8400-e29b-41d4-a716-446655440000","at":"2024-08-15T12:30:00.123Z","price":1299.99,"note":"The customer's keys were passed on.",` +
		`"link":"https://shop.test/orders/1?x=2","mail":"jane@example.com","phone":"+1 415 555 0132"}` + "\n"
	for name, text := range map[string]string{
		"records": strings.Repeat(record, 200),
		"words":   strings.Repeat("The order was shipped on Monday and will arrive soon. ", 1000),
		"digits":  strings.Repeat("0123456789", 5000),
		"openers": strings.Repeat("-----BEGIN PRIVATE KEY-----", 2000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				sensitive.Find(text, nil)
			}
		})
	}
}
