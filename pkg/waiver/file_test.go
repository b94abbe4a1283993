package waiver

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// FuzzFile reads files of waivers: nothing panics, and what is read has all that is
// needed.
func FuzzFile(f *testing.F) {
	f.Add("suite: s\nwaivers:\n  - {case: 'a/*', reason: r, approver: ann, expires: 2026-12-31}\n")
	f.Add("suite: s\nwaivers:\n  - {rule: pass_rate, reason: r, approver: ann, expires: 2026-12-31T10:00:00+02:00, signature: x}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, problems := Parse("waivers.yaml", []byte(text))
		if file == nil {
			if len(problems) == 0 {
				t.Error("no file, and no problem")
			}
			return
		}
		for _, w := range file.Waivers {
			if (w.Case == "") == (w.Rule == "") || w.Reason == "" || w.Approver == "" || w.Expires.IsZero() || strings.Count(Text(file.Suite, w.Waiver), "\n") != 6 {
				t.Errorf("half a waiver: %+v", w)
			}
		}
		if !hasAll(file) {
			t.Error("the file does not have its own waivers")
		}
	})
}

func hasAll(f *File) bool {
	for _, w := range f.Waivers {
		if !f.Has(f.Suite, w.Waiver) {
			return false
		}
	}
	return true
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "the file is empty"},
		{"no suite", "waivers: []", `missing key "suite"`},
		{"no list", "suite: s", `missing key "waivers"`},
		{"no end", "suite: s\nwaivers:\n  - {case: a, reason: r, approver: ann}", `3:5 missing key "expires"`},
		{"neither", "suite: s\nwaivers:\n  - {reason: r, approver: ann, expires: 2026-12-31}", "3:5 the waiver names no case and no rule"},
		{"both", "suite: s\nwaivers:\n  - {case: a, rule: pass_rate, reason: r, approver: ann, expires: 2026-12-31}", "3:15 a waiver is of a case or of a rule"},
		{"no metric", "suite: s\nwaivers:\n  - {rule: pass_rat, reason: r, approver: ann, expires: 2026-12-31}", "3:12 "},
		{"no date", "suite: s\nwaivers:\n  - {case: a, reason: r, approver: ann, expires: soon}", "want a date such as"},
		{"no such day", "suite: s\nwaivers:\n  - {case: a, reason: r, approver: ann, expires: 2026-02-30}", "want a date such as"},
		{"a bad glob", "suite: s\nwaivers:\n  - {case: 'a[', reason: r, approver: ann, expires: 2026-12-31}", "bad pattern"},
		{"a hidden line", "suite: s\nwaivers:\n  - {case: a, reason: \"r\\u001b[1m\", approver: ann, expires: 2026-12-31}", "control characters"},
		{"a typo", "suite: s\nwaivers:\n  - {case: a, reason: r, approver: ann, expire: 2026-12-31}", "expire"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, problems := Parse("w.yaml", []byte(test.text))
			if file != nil {
				t.Fatal("it was read")
			}
			var all []string
			for _, p := range problems {
				all = append(all, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message))
			}
			if got := strings.Join(all, "\n"); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want … %s …", got, test.want)
			}
		})
	}
}

func TestApprove(t *testing.T) {
	signed := "suite: support-desk\nwaivers:\n  - case: orders/refund\n    reason: \"Refunds are broken until #412 is in\"\n    approver: ann@example.com\n    expires: 2026-12-31\n"
	unsigned := signed
	signed += "    signature: |\n      " + strings.ReplaceAll(strings.TrimSpace(read(t, "ed25519.sig")), "\n", "\n      ") + "\n"
	allowed := signers(t, read(t, "allowed_signers"))
	parse := func(text string) *File {
		f, problems := Parse("w.yaml", []byte(text))
		if f == nil {
			t.Fatal(problems)
		}
		return f
	}
	branch := &Branch{Name: "main", File: parse(unsigned), Commit: "0123abc", Author: "Ann <ann@example.com>"}
	later := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, text string
		by         Authority
		at         time.Time
		want       string
	}{
		{"signed", signed, Authority{Signers: allowed}, now, "signed by ssh-ed25519 SHA256:"},
		{"changed", strings.Replace(signed, "2026-12-31", "2027-12-31", 1), Authority{Signers: allowed}, now, "7:5 waiver 1 is not approved: the signature does not hold"},
		{"of another suite", strings.Replace(signed, "support-desk", "nightly", 1), Authority{Signers: allowed}, now, "the signature does not hold"},
		{"by nobody who is known", signed, Authority{}, now, "7:5 waiver 1 is not approved: it is signed, and the gate names no allowed_signers"},
		{"unsigned", unsigned, Authority{Signers: allowed}, now, "3:5 waiver 1 is not approved: it has no signature"},
		{"unsigned, nobody", unsigned, Authority{}, now, "nobody may approve it"},
		{"on the branch", unsigned, Authority{Branch: branch, Signers: allowed}, now, "on branch main since 0123abc"},
		{"not on the branch", strings.Replace(unsigned, "refund", "*", 1), Authority{Branch: branch}, now, "branch main does not have it"},
		{"on the branch of another suite", strings.Replace(unsigned, "support-desk", "nightly", 1), Authority{Branch: branch}, now, "branch main does not have it"},
		{"a bad signature on the branch", strings.Replace(signed, "2026-12-31", "2027-12-31", 1), Authority{Branch: branch, Signers: allowed}, now, "the signature does not hold"},
		{"no branch to be seen", unsigned, Authority{Missing: "there is no branch main"}, now, "there is no branch main"},
		{"expired", unsigned, Authority{}, later, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, problems := parse(test.text).Approve(test.by, test.at)
			var said string
			switch {
			case len(problems) == 1 && len(got) == 0:
				said = fmt.Sprintf("%d:%d %s", problems[0].Line, problems[0].Column, problems[0].Message)
			case len(got) == 1 && len(problems) == 0:
				said = got[0].Approval
			default:
				t.Fatalf("got %v, %v", got, problems)
			}
			if !strings.Contains(said, test.want) || test.want == "" && said != "" {
				t.Errorf("got %q, want … %s …", said, test.want)
			}
		})
	}
	got, _ := parse(unsigned).Approve(Authority{Branch: branch}, now)
	if got[0].Approver != branch.Author {
		t.Errorf("approver: got %s, want the author on the branch", got[0].Approver)
	}
}
