package waiver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Signers are whom a file of allowed signers knows, as in ssh-keygen(1), ALLOWED
// SIGNERS.
type Signers struct{ lines []signer }

// A signer is one line of the file.
type signer struct {
	principals string // patterns
	namespaces string // patterns; empty for all
	after      time.Time
	before     time.Time
	key        ssh.PublicKey
}

// ParseSigners reads a file of allowed signers, whose name problems show. A line that
// can approve nobody here, such as that of a certificate authority, is a warning.
func ParseSigners(name string, data []byte) (*Signers, []strictyaml.Problem) {
	out := &Signers{}
	var problems []strictyaml.Problem
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimLeft(line, " \t")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		s, err := parseSigner(trimmed)
		if err != nil {
			_, only := errors.AsType[*unusableError](err)
			problems = append(problems, strictyaml.Problem{
				File: name, Line: n, Column: len(line) - len(trimmed) + 1, Message: err.Error(), Source: line, Warning: only,
				Hint: "PRINCIPALS [OPTIONS] KEYTYPE BASE64: man ssh-keygen, ALLOWED SIGNERS",
			})
			continue
		}
		out.lines = append(out.lines, s)
	}
	return out, problems
}

// unusableError is why a line that may be sound approves nobody here.
type unusableError struct{ why string }

func (e *unusableError) Error() string { return e.why }

func parseSigner(line string) (signer, error) {
	var s signer
	var rest string
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		var closed bool
		if s.principals, rest, closed = strings.Cut(quoted, `"`); !closed {
			return s, errors.New("the principals have no closing quote")
		}
	} else {
		s.principals, rest = word(line)
	}
	rest = strings.TrimLeft(rest, " \t")
	if s.principals == "" || rest == "" {
		return s, errors.New("the line has no key")
	}
	kind, _ := word(rest)
	if !keyType(kind) {
		options, after := cutOptions(rest)
		if err := s.options(options); err != nil {
			return s, err
		}
		rest = strings.TrimLeft(after, " \t")
		kind, _ = word(rest)
	}
	if kind == "" || !keyType(kind) {
		return s, fmt.Errorf("%s is no type of a key", strictyaml.Quote(kind))
	}
	if !slices.Contains(keyTypes(), kind) {
		return s, &unusableError{fmt.Sprintf("a key of type %s approves no waiver; ed25519, ecdsa and rsa keys do", kind)}
	}
	_, rest = word(rest)
	encoded, _ := word(strings.TrimLeft(rest, " \t"))
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return s, errors.New("the key is no base64")
	}
	if s.key, err = ssh.ParsePublicKey(blob); err != nil || s.key.Type() != kind {
		return s, fmt.Errorf("it is no key of type %s", kind)
	}
	return s, nil
}

// word cuts what is before the first blank.
func word(s string) (first, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// keyType says whether a word names a type of keys of OpenSSH. No option does.
func keyType(s string) bool {
	return strings.HasPrefix(s, "ssh-") || strings.HasPrefix(s, "ecdsa-sha2-") || strings.HasPrefix(s, "sk-")
}

// cutOptions cuts the options, which may hold blanks in quotes.
func cutOptions(s string) (options, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && (s[i] == ' ' || s[i] == '\t'):
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// options of a line.
func (s *signer) options(text string) error {
	for text != "" {
		end := strings.IndexAny(text, "=,")
		name, value := text, ""
		if end >= 0 {
			name = text[:end]
		}
		text = text[len(name):]
		if after, ok := strings.CutPrefix(text, `="`); ok {
			var closed bool
			if value, text, closed = strings.Cut(after, `"`); !closed {
				return fmt.Errorf("option %s has no closing quote", strictyaml.Quote(name))
			}
		}
		if text != "" && text[0] != ',' {
			return fmt.Errorf("option %s wants its value in quotes", strictyaml.Quote(name))
		}
		text = strings.TrimPrefix(text, ",")
		if err := s.option(strings.ToLower(name), value); err != nil {
			return err
		}
	}
	if !s.after.IsZero() && !s.before.IsZero() && !s.after.Before(s.before) {
		return errors.New("valid-before is not after valid-after")
	}
	return nil
}

func (s *signer) option(name, value string) (err error) {
	switch name {
	case "cert-authority":
		return &unusableError{"a certificate authority approves no waiver: name the keys themselves"}
	case "namespaces":
		if value == "" || s.namespaces != "" {
			return errors.New("namespaces wants one list of patterns in quotes")
		}
		s.namespaces = value
		return nil
	case "valid-after":
		s.after, err = validity(name, value, s.after)
		return err
	case "valid-before":
		s.before, err = validity(name, value, s.before)
		return err
	}
	return fmt.Errorf("unknown option %s", strictyaml.Quote(name))
}

// validity reads a time of the file: YYYYMMDD[HHMM[SS]]Z. OpenSSH takes one without Z
// for the time of the machine's zone, and then a signer is valid here and not there.
func validity(name, value string, before time.Time) (time.Time, error) {
	if !before.IsZero() {
		return before, fmt.Errorf("%s is given twice", name)
	}
	digits, ok := strings.CutSuffix(strings.ToUpper(value), "Z")
	if !ok {
		digits, ok = strings.CutSuffix(digits, "UTC")
	}
	layout := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	t, err := time.ParseInLocation(layout, digits, time.UTC)
	if layout == "" || err != nil {
		return t, fmt.Errorf("%s=%s is no time such as 20261231Z or 202612311800Z", name, strictyaml.Quote(value))
	}
	if !ok {
		return t, fmt.Errorf("%s=%s depends on the time zone of the machine: end it with Z", name, strictyaml.Quote(value))
	}
	return t, nil
}

// Verify says by which key somebody has signed a message in our namespace, such as
// "ED25519 SHA256:…", if the file allows it at that time. The error says why it is no
// approval.
func (s *Signers) Verify(principal, message, armored string, at time.Time) (string, error) {
	sig, err := parseSignature(armored)
	if err != nil {
		return "", fmt.Errorf("the signature cannot be read: %w", err)
	}
	if sig.namespace != Namespace {
		return "", fmt.Errorf("the signature is for %s, not for %s", strictyaml.Quote(sig.namespace), Namespace)
	}
	if err := sig.verify(message); err != nil {
		return "", fmt.Errorf("the signature does not hold: %w", err)
	}
	shown := ssh.FingerprintSHA256(sig.key)
	why := fmt.Errorf("the key %s is no allowed signer", shown)
	for _, line := range s.lines {
		if !bytes.Equal(line.key.Marshal(), sig.key.Marshal()) {
			continue
		}
		switch {
		case !matchList(principal, line.principals):
			why = fmt.Errorf("the key %s is not one of %s", shown, strictyaml.Quote(principal))
		case line.namespaces != "" && !matchList(Namespace, line.namespaces):
			why = fmt.Errorf("the key %s may not sign for %s", shown, Namespace)
		case !line.after.IsZero() && at.Before(line.after):
			why = fmt.Errorf("the key %s is not valid before %s", shown, line.after.Format(time.RFC3339))
		case !line.before.IsZero() && at.After(line.before):
			why = fmt.Errorf("the key %s is not valid after %s", shown, line.before.Format(time.RFC3339))
		default:
			return fmt.Sprintf("signed by %s %s", sig.key.Type(), shown), nil
		}
	}
	return "", why
}

// matchList is match_pattern_list of OpenSSH: some pattern of a list finds the word,
// and none with a ! before it does.
func matchList(s, patterns string) bool {
	found := false
	for p := range strings.SplitSeq(patterns, ",") {
		p, negated := strings.CutPrefix(p, "!")
		if !match(s, p) {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// match is match_pattern of OpenSSH: * stands for any characters, ? for one. It goes
// back to the last * alone, so its time is bounded.
func match(s, pattern string) bool {
	at, star, from := 0, -1, 0
	for i := 0; i < len(s); {
		switch {
		case at < len(pattern) && pattern[at] == '*':
			star, from = at, i
			at++
		case at < len(pattern) && (pattern[at] == '?' || pattern[at] == s[i]):
			at, i = at+1, i+1
		case star >= 0:
			from++
			at, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[at:], "*") == ""
}
