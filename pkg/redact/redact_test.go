package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/redact"
)

func TestString(t *testing.T) {
	values := map[string]string{
		"KEY": "sk-12345", "LONG": "sk-12345-and-more", "SHORT": "abc", "ODD": `p"w\<ä>/ +`, "FILE": "from-a-file\n", "PIN": "4711",
	}
	tests := []struct {
		name, in, want string
	}{
		{name: "nothing in it", in: "plain text", want: "plain text"},
		{name: "as it is", in: "key=sk-12345.", want: "key=[secret KEY]."},
		{name: "twice", in: "sk-12345sk-12345", want: "[secret KEY][secret KEY]"},
		{name: "the longest first", in: "sk-12345-and-more", want: "[secret LONG]"},
		{name: "too short for a secret", in: "abcabc", want: "abcabc"},
		{name: "odd characters", in: `<p"w\<ä>/ +>`, want: "<[secret ODD]>"},
		{name: "inside JSON", in: `{"a":"p\"w\\<ä>/ +"}`, want: `{"a":"[secret ODD]"}`},
		{name: "inside JSON with HTML escapes", in: `"p\"w\\\u003cä\u003e/ +"`, want: `"[secret ODD]"`},
		{name: "inside ASCII JSON", in: `"p\"w\\<\u00e4>/ +"`, want: `"[secret ODD]"`},
		{name: "inside JSON inside JSON", in: `"{\"a\":\"p\\\"w\\\\<ä>/ +\"}"`, want: `"{\"a\":\"[secret ODD]\"}"`},
		{name: "in a query", in: "?p=" + url.QueryEscape(values["ODD"]), want: "?p=[secret ODD]"},
		{name: "in a path", in: "/" + url.PathEscape(values["ODD"]), want: "/[secret ODD]"},
		{name: "in a URL with small digits", in: "?p=" + strings.ToLower(url.QueryEscape(values["ODD"])), want: "?p=[secret ODD]"},
		{name: "as encodeURIComponent writes it", in: "?p=p%22w%5C%3C%C3%A4%3E%2F%20%2B", want: "?p=[secret ODD]"},
		{name: "in base64", in: base64.StdEncoding.EncodeToString([]byte("sk-12345")), want: "[secret KEY]"},
		{name: "in base64 for URLs", in: base64.RawURLEncoding.EncodeToString([]byte(values["ODD"])), want: "[secret ODD]"},
		{name: "without the line break of its file", in: "<from-a-file>", want: "<[secret FILE]>"},
	}
	r := redact.New(values)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := r.String(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := string(r.Bytes([]byte(test.in))); got != test.want {
				t.Errorf("Bytes: got %q, want %q", got, test.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	values := map[string]string{"KEY": `s"ecret`, "PIN": "4711", "WORD": "true"}
	tests := []struct {
		name, in, want string
	}{
		{name: "nothing in it stays byte for byte", in: `{ "a" : [1.0, "\u0041\/", null] }`, want: `{ "a" : [1.0, "\u0041\/", null] }`},
		{name: "a string", in: `{"a":"x s\"ecret"}`, want: `{"a":"x [secret KEY]"}`},
		{name: "a string however it is escaped", in: `"\u0073\"\u0065cret"`, want: `"[secret KEY]"`},
		{name: "a key", in: `{"s\"ecret":1}`, want: `{"[secret KEY]":1}`},
		{name: "a number becomes a string", in: `[4711,-14711.5,1]`, want: `["[secret PIN]","-1[secret PIN].5",1]`},
		{name: "a literal stays", in: `[true,"true"]`, want: `[true,"[secret WORD]"]`},
		{name: "no JSON is text", in: `{"a": 4711`, want: `{"a": [secret PIN]`},
	}
	r := redact.New(values)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(r.JSON([]byte(test.in))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestNothingToRedact(t *testing.T) {
	for name, values := range map[string]map[string]string{"no values": nil, "short values": {"A": "", "B": "abc"}} {
		t.Run(name, func(t *testing.T) {
			r := redact.New(values)
			const in = `{"a":"abc"}`
			if r != nil {
				t.Errorf("got a redactor, want nil")
			}
			if s, b, j := r.String(in), string(r.Bytes([]byte(in))), string(r.JSON([]byte(in))); s != in || b != in || j != in {
				t.Errorf("got %s, %s, %s, want %s", s, b, j, in)
			}
		})
	}
}

// A secret never survives, wherever it stands and in whatever form.
func TestNoSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-~ä€]{8,20}`).Draw(t, "secret")
		before := rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "after")
		r := redact.New(map[string]string{"S": secret})
		literal, err := json.Marshal(before + secret + after)
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{
			"plain": before + secret + after,
			"query": url.QueryEscape(before + secret + after),
			"path":  url.PathEscape(before + secret + after),
			"json":  string(literal),
		} {
			if got := r.String(text); !strings.Contains(got, "[secret S]") {
				t.Fatalf("%s: got %q, want the secret replaced", form, got)
			}
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(before + secret + after))
		if got := r.String(encoded); !strings.Contains(got, "[secret S]") {
			t.Fatalf("base64: got %q of %q, want the secret replaced", got, encoded)
		}
		document := r.JSON([]byte(`{"a":[` + string(literal) + `]}`))
		var back struct{ A []string }
		if err := json.Unmarshal(document, &back); err != nil || back.A[0] != before+"[secret S]"+after {
			t.Fatalf("JSON: got %s (%v), want the secret replaced", document, err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a":[1234,"x1234"]}`, "1234")
	f.Add(`"\\\""`, `\\\"`)
	f.Add(`[-1e5, "\u00e4"]`, "äöü!")
	f.Fuzz(func(t *testing.T, raw, secret string) {
		got := redact.New(map[string]string{"S": secret}).JSON([]byte(raw))
		if json.Valid([]byte(raw)) && !json.Valid(got) {
			t.Errorf("got %q, which is no JSON, of %q", got, raw)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	r := redact.New(map[string]string{"A": "sk-1234567890", "B": "another-secret", "C": "and-a-third-one"})
	clean := `{"turns":[` + strings.Repeat(`{"tool":"get_order","text":"{\"id\":\"ORD-20240815\",\"status\":\"SHIPPED\"}"},`, 100) + `{}]}`
	for name, raw := range map[string]string{"clean": clean, "one secret": strings.Replace(clean, "SHIPPED", "sk-1234567890", 1)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				r.JSON([]byte(raw))
			}
		})
	}
}
