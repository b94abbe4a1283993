package suite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestWaivers(t *testing.T) {
	head := "version: 1\nname: desk\nservers: {s: {command: [srv]}}\ndefaults: {server: s}\ncases: [{id: orders/refund, call: ping}]\n"
	entry := func(of, glob string) string {
		return "suite: " + of + "\nwaivers:\n  - {case: '" + glob + "', reason: r, approver: ann, expires: 2026-12-31}\n"
	}
	for _, test := range []struct {
		name, gate, waivers, wrong, warn string
	}{
		{name: "a case", gate: "{waivers: w.yaml, protected_branch: release/2}", waivers: entry("desk", "orders/refund")},
		{name: "a glob", gate: "{waivers: w.yaml, allowed_signers: keys}", waivers: entry("desk", "orders/*")},
		{name: "no such case", gate: "{waivers: w.yaml}", waivers: entry("desk", "order/*"), warn: `the suite has no case "order/*"`},
		{name: "of another suite", gate: "{waivers: w.yaml}", waivers: entry("desks", "orders/*"), wrong: `the waivers are for suite "desks", and this is "desk"`},
		{name: "half a waiver", gate: "{waivers: w.yaml}", waivers: "suite: desk\nwaivers: [{case: a}]", wrong: `missing key "reason"`},
		{name: "no file", gate: "{waivers: x.yaml}", wrong: `cannot read "`},
		{name: "out of the project", gate: "{waivers: ../w.yaml}", wrong: "leaves the project folder"},
		{name: "no signers", gate: "{waivers: w.yaml, allowed_signers: nobody}", waivers: entry("desk", "*"), wrong: `cannot read "`},
		{name: "signers alone", gate: "{allowed_signers: keys}", wrong: "allowed_signers is about waivers, and the gate names none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := write(t, map[string]string{
				"suite.yaml": head + "gate: " + test.gate + "\n", "w.yaml": test.waivers, "keys": "# nobody yet\n",
			})
			loaded, err := suite.Load(dir+"/suite.yaml", options())
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("got %v, want %s", err, test.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(loaded.Waivers.Waivers) != 1 || loaded.WaiverPath != filepath.Join(dir, "w.yaml") {
				t.Errorf("got %+v at %s", loaded.Waivers, loaded.WaiverPath)
			}
			if got, want := loaded.Signers != nil, strings.Contains(test.gate, "signers"); got != want {
				t.Errorf("signers: got %t, want %t", got, want)
			}
			files := ""
			for _, f := range loaded.Files { // a farm gets them with the suite
				files += f.Name + " "
			}
			if !strings.Contains(files, "w.yaml") || strings.Contains(files, "keys") != (loaded.Signers != nil) {
				t.Errorf("the suite was read from %s", files)
			}
			var warnings []string
			for _, w := range loaded.Warnings {
				warnings = append(warnings, w.Message)
			}
			if got := strings.Join(warnings, "; "); got != test.warn {
				t.Errorf("got the warnings %q, want %q", got, test.warn)
			}
		})
	}
}
