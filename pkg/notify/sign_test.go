package notify

import (
	"strings"
	"testing"
	"time"
)

// The first vector is that of the specification, the others were computed with
// another language's HMAC.
func TestSign(t *testing.T) {
	const (
		spec  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		most  = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="
		least = "whsec_eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4"
	)
	for name, test := range map[string]struct {
		secret, id string
		at         int64
		body, want string
	}{
		"the specification's":      {spec, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		"64 bytes, beyond ASCII":   {most, "msg_1", 1, "größer 日本", "v1,yS7XZ4AiJ+waOggUrlbbxsWhJcWIRk2KmwpyLGMXlP0="},
		"24 bytes, an empty body":  {least, "msg_1", 1, "", "v1,7t5hboPvCECfgaCsglBEXRJgyBC3ISkBkxfS8H9snMQ="},
		"one that takes over":      {spec + " " + least, "msg_1", 1, "", "v1,fUIsxxTK5tKgKbC2AwzF7wnOr3WsI1RCNgGdkLxy5PY= v1,7t5hboPvCECfgaCsglBEXRJgyBC3ISkBkxfS8H9snMQ="},
		"no prefix":                {strings.TrimPrefix(spec, "whsec_"), "msg_1", 1, "", ""},
		"no base64":                {"whsec_not base64", "msg_1", 1, "", ""},
		"a short key":              {"whsec_eHh4", "msg_1", 1, "", ""},
		"a long key":               {"whsec_" + strings.Repeat("eHh4", 22), "msg_1", 1, "", ""},
		"nothing":                  {" ", "msg_1", 1, "", ""},
		"the second is none":       {spec + " x", "msg_1", 1, "", ""},
		"base64 of another script": {"whsec_ＡＡＡＡ", "msg_1", 1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sign(test.secret, test.id, time.Unix(test.at, 999), []byte(test.body))
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "eHh4") {
				t.Errorf("the secret is in %q", err)
			}
		})
	}
}
