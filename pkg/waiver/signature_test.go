package waiver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// now is when the tests verify.
var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func refund() eval.Waiver {
	return eval.Waiver{
		Case: "orders/refund", Reason: "Refunds are broken until #412 is in", Approver: "ann@example.com",
		Expires: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC),
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func signers(t *testing.T, text string) *Signers {
	t.Helper()
	s, problems := ParseSigners("allowed_signers", []byte(text))
	for _, p := range problems {
		if !p.Warning {
			t.Fatal(p.Render())
		}
	}
	return s
}

// The text of a waiver never changes: people have signed it.
func TestTextIsWhatWasSigned(t *testing.T) {
	if got, want := Text("support-desk", refund()), read(t, "waiver.txt"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	rule := eval.Waiver{Rule: eval.MetricLatencyP95, Reason: `"<slow>"`, Approver: "ann", Expires: now}
	want := "evalfarm waiver 1\nsuite \"s\"\nrule \"latency_p95\"\nreason \"\\\"<slow>\\\"\"\napprover \"ann\"\nexpires \"2026-12-01T12:00:00Z\"\n"
	if got := Text("s", rule); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What ssh-keygen of OpenSSH has signed once.
func TestRecordedSignatures(t *testing.T) {
	message := read(t, "waiver.txt")
	for _, test := range []struct {
		name, file, principal, message, want string
	}{
		{"ed25519", "ed25519.sig", "ann@example.com", message, ""},
		{"ecdsa", "ecdsa.sig", "ann@example.com", message, ""},
		{"rsa", "rsa.sig", "ann@example.com", message, ""},
		{"another namespace", "namespace.sig", "ann@example.com", message, `the signature is for "file"`},
		{"another text", "ed25519.sig", "ann@example.com", message + " ", "of another text"},
		{"somebody else", "ed25519.sig", "bob@example.com", message, `is not one of "bob@example.com"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			by, err := signers(t, read(t, "allowed_signers")).Verify(test.principal, test.message, read(t, test.file), now)
			switch {
			case test.want == "" && (err != nil || !strings.HasPrefix(by, "signed by ")):
				t.Errorf("got %q, %v", by, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want … %s …", err, test.want)
			}
		})
	}
	if _, err := signers(t, "").Verify("ann@example.com", message, read(t, "rsa.sig"), now); err == nil || !strings.Contains(err.Error(), "no allowed signer") {
		t.Errorf("nobody is allowed, got %v", err)
	}
}

// Whatever bit of a signature changes, it holds no more, or is no other signature.
func TestChangedSignature(t *testing.T) {
	all, message := signers(t, read(t, "allowed_signers")), read(t, "waiver.txt")
	armored := []byte(strings.TrimSpace(read(t, "ed25519.sig")))
	for i := len(armorBegin) + 1; i < len(armored)-len(armorEnd)-1; i++ {
		was := armored[i]
		if was == '\n' {
			continue
		}
		armored[i] = 'A'
		if was == 'A' {
			armored[i] = 'B'
		}
		if _, err := all.Verify("ann@example.com", message, string(armored), now); err == nil {
			t.Errorf("byte %d was changed, and the signature holds", i)
		}
		armored[i] = was
	}
}

// TestAgreesWithSSHKeygen holds us to what ssh-keygen says of the same files.
func TestAgreesWithSSHKeygen(t *testing.T) {
	tool, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	dir := t.TempDir()
	run := func(stdin string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "TZ=UTC")
		return cmd.Output()
	}
	message := Text("support-desk", refund())
	keys := map[string]string{}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		if _, err := run("", "-q", "-t", kind, "-N", "", "-C", "", "-f", kind); err != nil {
			t.Fatalf("make a key: %v", err)
		}
		public, err := os.ReadFile(filepath.Join(dir, kind+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		keys[kind] = strings.TrimSpace(string(public))
	}
	sign := func(kind, namespace string) string {
		out, err := run(message, "-q", "-Y", "sign", "-f", kind, "-n", namespace)
		if err != nil {
			t.Fatalf("sign: %v", err)
		}
		return string(out)
	}
	ed := sign("ed25519", Namespace)
	for _, test := range []struct {
		name, allowed, principal, signature string
		want                                bool
	}{
		{"ed25519", "ann " + keys["ed25519"], "ann", ed, true},
		{"ecdsa", "ann " + keys["ecdsa"], "ann", sign("ecdsa", Namespace), true},
		{"rsa", "ann " + keys["rsa"] + " with a comment", "ann", sign("rsa", Namespace), true},
		{"another namespace", "ann " + keys["ed25519"], "ann", sign("ed25519", "file"), false},
		{"another principal", "bob " + keys["ed25519"], "ann", ed, false},
		{"one of several", "bob,ann " + keys["ed25519"], "ann", ed, true},
		{"a pattern", "*@example.com " + keys["ed25519"], "ann@example.com", ed, true},
		{"a pattern of another", "*@example.com " + keys["ed25519"], "ann@example.org", ed, false},
		{"one character", "a?n " + keys["ed25519"], "ann", ed, true},
		{"one character too many", "ann? " + keys["ed25519"], "ann", ed, false},
		{"all but one", "*,!ann " + keys["ed25519"], "ann", ed, false},
		{"all but another", "!bob,* " + keys["ed25519"], "ann", ed, true},
		{"only a negation", "!bob " + keys["ed25519"], "ann", ed, false},
		{"in quotes", `"ann b,ann" ` + keys["ed25519"], "ann b", ed, true},
		{"its namespace", `ann namespaces="git,evalfarm-*" ` + keys["ed25519"], "ann", ed, true},
		{"no namespace of it", `ann namespaces="git" ` + keys["ed25519"], "ann", ed, false},
		{"a later line", "# comment\n\nann namespaces=\"git\" " + keys["ed25519"] + "\nann " + keys["ed25519"] + "\n", "ann", ed, true},
		{"not yet", `ann valid-after="20261202Z" ` + keys["ed25519"], "ann", ed, false},
		{"by now", `ann valid-after="202612011200Z" ` + keys["ed25519"], "ann", ed, true},
		{"no more", `ann valid-before="20261201115959Z" ` + keys["ed25519"], "ann", ed, false},
		{"still", `ann valid-before="20261201120000Z",valid-after="20260101Z" ` + keys["ed25519"], "ann", ed, true},
		{"options in capitals", `ann NAMESPACES="evalfarm-waiver" ` + keys["ed25519"], "ann", ed, true},
		{"another key", "ann " + keys["ecdsa"], "ann", ed, false},
		{"a certificate authority", "ann cert-authority " + keys["ed25519"], "ann", ed, false},
		{"nobody", "", "ann", ed, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, text := range map[string]string{"allowed": test.allowed, "sig": test.signature} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := run(message, "-q", "-Y", "verify", "-f", "allowed", "-I", test.principal, "-n", Namespace, "-s", "sig",
				"-O", "verify-time="+now.Format("20060102150405"))
			if theirs := err == nil; theirs != test.want {
				t.Errorf("ssh-keygen says %t, want %t: %v", theirs, test.want, err)
			}
			_, err = signers(t, test.allowed).Verify(test.principal, message, test.signature, now)
			if ours := err == nil; ours != test.want {
				t.Errorf("we say %t, want %t: %v", ours, test.want, err)
			}
		})
	}
}

func TestBadSigners(t *testing.T) {
	key := strings.SplitN(strings.SplitN(read(t, "allowed_signers"), "\n", 2)[0], " ", 3)[2] // type and key
	for _, test := range []struct{ name, line, want string }{
		{"no key", "ann", "the line has no key"},
		{"no principals", `"" ` + key, "the line has no key"},
		{"an open quote", `"ann ` + key, "no closing quote"},
		{"no type", "ann namespaces=\"git\" AAAA", "is no type of a key"},
		{"another type", "ann " + strings.Replace(key, "ssh-ed25519", "ecdsa-sha2-nistp256", 1), "it is no key of type ecdsa-sha2-nistp256"},
		{"no base64", "ann ssh-ed25519 #", "the key is no base64"},
		{"an unknown option", "ann no-pty " + key, `unknown option "no-pty"`},
		{"no quotes", "ann namespaces=git " + key, "wants its value in quotes"},
		{"an open option", `ann namespaces="git ` + key, "has no closing quote"},
		{"no time", `ann valid-after="soon" ` + key, "is no time such as"},
		{"a local time", `ann valid-after="20260101" ` + key, "depends on the time zone of the machine"},
		{"never valid", `ann valid-after="20260102Z",valid-before="20260101Z" ` + key, "valid-before is not after valid-after"},
		{"a token", "ann sk-ssh-ed25519@openssh.com AAAA", "warning: a key of type sk-ssh-ed25519@openssh.com approves no waiver"},
		{"an authority", "ann cert-authority " + key, "warning: a certificate authority approves no waiver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := ParseSigners("keys", []byte("# ours\n "+test.line+"\n"))
			if len(problems) != 1 {
				t.Fatalf("got %d problems, want 1", len(problems))
			}
			p := problems[0]
			got := fmt.Sprintf("%s:%d:%d %s", p.File, p.Line, p.Column, p.Message)
			if p.Warning {
				got = strings.Replace(got, "2:2 ", "2:2 warning: ", 1)
			}
			if !strings.HasPrefix(got, "keys:2:2 ") || !strings.Contains(got, test.want) {
				t.Errorf("got %s, want keys:2:2 … %s", got, test.want)
			}
		})
	}
}

// FuzzSignature reads what anybody may have written between the two lines: nothing
// panics, and nothing but what was signed is approved.
func FuzzSignature(f *testing.F) {
	message, err := os.ReadFile("testdata/waiver.txt")
	if err != nil {
		f.Fatal(err)
	}
	allowed, err := os.ReadFile("testdata/allowed_signers")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"ed25519", "ecdsa", "rsa", "namespace"} {
		text, err := os.ReadFile("testdata/" + name + ".sig")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), string(allowed))
	}
	f.Add("", `ann cert-authority,valid-after="20260101Z" ssh-ed25519 AAAA`)
	f.Fuzz(func(t *testing.T, armored, allowed string) {
		s, problems := ParseSigners("keys", []byte(allowed))
		for _, p := range problems {
			if p.Line < 1 || p.Message == "" {
				t.Errorf("a problem without a place or a message: %+v", p)
			}
		}
		if _, err := s.Verify("ann@example.com", string(message)+"x", armored, now); err == nil {
			t.Error("the signature of another text was taken")
		}
	})
}
