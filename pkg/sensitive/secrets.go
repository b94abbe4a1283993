package sensitive

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"unicode"
)

// Shapes of keys, as their issuers document them.
var (
	// awsAccessKey: the prefixes of access keys in the IAM user guide, "IAM
	// identifiers"; the rest is base32 (RFC 4648).
	awsAccessKey = regexp.MustCompile(`^A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}`)
	// githubToken: prefixes of "Behind GitHub's new authentication token formats"
	// and the fine-grained github_pat_.
	githubToken = regexp.MustCompile(`^(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})`)
	// gitlabToken: GitLab docs, "Token overview: token prefixes".
	gitlabToken = regexp.MustCompile(`^gl(?:pat|rt|dt|ptt|soat|ft|cbt|imt|agent|oas)-[A-Za-z0-9_-]{20,}`)
	// slackToken: Slack docs, "Token types", and incoming webhooks.
	slackToken = regexp.MustCompile(`^(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]{20,})`)
	// stripeKey: Stripe docs, "API keys"; a pk_ key is made to be published.
	stripeKey = regexp.MustCompile(`^(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,})`)
	// anthropicKey and openAIKey as the providers' consoles make them.
	anthropicKey = regexp.MustCompile(`^sk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{20,}`)
	openAIKey    = regexp.MustCompile(`^sk-[A-Za-z0-9_-]{20,}`)
	// googleAPIKey: Google Cloud docs, "API keys", and OAuth client secrets.
	googleAPIKey = regexp.MustCompile(`^(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28})`)
	// jwt begins like the header of a signed token: RFC 7519, RFC 7515 section 3.1.
	jwt = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{8}`)
	// privateKey is the first line of a key: RFC 7468 section 10 and 11, PKCS #1,
	// OpenSSH; and of OpenPGP's armor, RFC 9580 section 6.2.
	privateKey = regexp.MustCompile(`^-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----`)
	// connectionString is the part of a URI that holds a user and a password: RFC
	// 3986 section 3.2.1.
	connectionString = regexp.MustCompile(`^://[^\s:/@"'<>]*:([^\s/@"'<>]+)@[^\s/@"'<>]`)
	// authorization holds credentials of a header: RFC 6750 section 2.1, RFC 7617.
	authorization = regexp.MustCompile(`^(?i:bearer|basic) +([A-Za-z0-9._~+/-]{8,}=*)`)
	// assignment gives a name that says "secret" a value, in code, JSON (also inside
	// a JSON string), YAML, an environment or a query.
	assignment = regexp.MustCompile(`^(?i:passw(?:or)?d|passphrase|pwd|secret|secret[_-]?(?:access[_-]?)?key|api[_-]?key|access[_-]?key|private[_-]?key|(?:access|auth|api|refresh|bearer|session)[_-]?token)` +
		`\\?["']? ?(?:=>|:=|[:=]) ?\\?["']?([^\s"'\\,;&<>(){}]{6,})`)
)

// keyBlock wants a key soon after its first line and takes the whole block.
func keyBlock(text string, start, end int) (int, int) {
	// Bounds keep the time linear in a text of many first lines.
	const lead, longest = 1 << 10, 16 << 10
	body := text[end:min(len(text), end+longest)]
	run := 0
	for i := range min(len(body), lead) {
		if run++; !isBase64(body[i]) {
			run = 0
		}
		if run == 24 {
			body, _, _ = strings.Cut(body, "-----END ")
			return start, end + len(body)
		}
	}
	return 0, 0
}

// signedToken takes all three parts, and wants a header that is a JSON object
// with an algorithm.
func signedToken(text string, start, _ int) (int, int) {
	end := start
	for end < len(text) && (isWord(text[end]) || text[end] == '-' || text[end] == '.') {
		end++
	}
	token := strings.TrimRight(text[start:end], ".-")
	header, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(header)
	var fields struct {
		Alg string `json:"alg"`
	}
	if strings.Count(token, ".") < 2 || err != nil || json.Unmarshal(raw, &fields) != nil || fields.Alg == "" {
		return 0, 0
	}
	return start, start + len(token)
}

// openAISecret tells keys from other words with sk- in front: a key without the
// name of its kind has 48 letters and digits.
func openAISecret(text string, start, end int) (int, int) {
	rest := text[start+len("sk-") : end]
	plain := strings.IndexFunc(rest, func(r rune) bool { return r == '-' || r == '_' }) < 0
	named := strings.HasPrefix(rest, "proj-") || strings.HasPrefix(rest, "svcacct-") || strings.HasPrefix(rest, "admin-")
	if named || plain && len(rest) >= 40 && isRandom(rest) {
		return alone(text, start, end)
	}
	return 0, 0
}

// credentials wants user:password of Basic, and something random of Bearer.
func credentials(text string, start, end int) (int, int) {
	value := text[start:end]
	scheme := strings.ToLower(strings.TrimRight(text[max(0, start-16):start], " "))
	if strings.HasSuffix(scheme, "basic") {
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
		if err != nil || !strings.Contains(string(raw), ":") {
			return 0, 0
		}
		return start, end
	}
	if len(value) < 16 || !isRandom(value) {
		return 0, 0
	}
	return start, end
}

// urlPassword refuses what stands in a URI for a password of one's own.
func urlPassword(text string, start, end int) (int, int) {
	value := text[start:end]
	switch strings.ToLower(value) {
	case "password", "passwd", "pass", "pwd":
		return 0, 0
	}
	if isPlaceholder(value) {
		return 0, 0
	}
	return start, end
}

// password refuses what stands for a password and is none.
func password(text string, start, end int) (int, int) {
	if isRandom(text[start:end]) {
		return start, end
	}
	return 0, 0
}

// minEntropy is in bits a character. Words of a language and placeholders have
// no digits or repeat few characters; a password of eight different characters
// has 3.
const minEntropy = 2.3

// isPlaceholder recognises $PASSWORD, <secret>, {{secret}}, [secret NAME], %s,
// **** and xxxx.
func isPlaceholder(value string) bool {
	return strings.IndexByte("$<{[%", value[0]) >= 0 || strings.Trim(value, value[:1]) == ""
}

// isRandom tells a chosen value from a word, a type, a number or a placeholder:
// letters and digits are mixed, and few characters repeat.
func isRandom(value string) bool {
	if isPlaceholder(value) {
		return false
	}
	letters, others := 0, 0
	for _, r := range value {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r) || strings.ContainsRune("!#$%&*@^~?", r):
			others++
		}
	}
	return letters > 0 && others > 0 && entropy(value) >= minEntropy
}

// entropy of the distribution of bytes, in bits a byte (Shannon 1948).
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// alone wants a value that is no part of a longer word.
func alone(text string, start, end int) (int, int) {
	if start > 0 && isWord(text[start-1]) || end < len(text) && isWord(text[end]) {
		return 0, 0
	}
	return start, end
}

func isBase64(c byte) bool { return isAlphanumeric(c) || c == '+' || c == '/' }

func isWord(c byte) bool { return isAlphanumeric(c) || c == '_' }

func isAlphanumeric(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
