package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const smallArm = `{"format":1,"run":"r-1","suite":"shop","suite_hash":"x","runs":1,"version":"v","created":"2026-01-02T03:04:05Z",
	"cells":[{"case":"a","variant":"","kind":"agent","counts":{"pass":2,"fail":1},"planned":4,"conditions":{"model":"m"}}]}`

func TestDecodeArm(t *testing.T) {
	with := func(old, now string) string { return strings.Replace(smallArm, old, now, 1) }
	for _, tc := range []struct{ name, doc, want string }{
		{"as it is written", smallArm, ""},
		{"nothing", "", "unexpected end"},
		{"another document", `{"cells": []}`, "it has no format"},
		{"a newer format", `{"format": 2, "sells": []}`, "it has format 2, and this evalfarm reads up to 1"},
		{"an unknown key", with(`"runs":1`, `"runs":1,"rums":1`), `unknown field "rums"`},
		{"a wrong type", with(`"planned":4`, `"planned":"4"`), "2:"},
		{"no JSON", with(`"cells":[`, `"cells":[[`), "2:"},
		{"of no run", with(`"runs":1`, `"runs":0`), "it is of no run"},
		{"a cell of nothing", with(`"case":"a"`, `"case":""`), "has no case"},
		{"more trials than planned", with(`"planned":4`, `"planned":2`), "has 3 trials of 2"},
		{"too many trials", with(`"planned":4`, `"planned":1000001`), "at most 1000000 can be compared"},
		{"counts that overflow", with(`"fail":1`, `"fail":4611686018427387904,"error":4611686018427387904`), "trials with the verdict fail"},
		{"a cost below nothing", with(`"planned":4`, `"planned":4,"microusd":-1`), "a cost below 0"},
		{"less than none", with(`"fail":1`, `"fail":-1`), "-1 trials with the verdict fail"},
		{"a cell twice", with(`"cells":[`, `"cells":[{"case":"a","variant":"","kind":"agent","counts":{},"planned":0,"conditions":{}},`), "is there twice"},
		{"text after it", smallArm + "{}", "after"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := eval.DecodeArm([]byte(tc.doc))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// What is taken is written so that it is taken again, and as it was.
func FuzzDecodeArm(f *testing.F) {
	f.Add([]byte(smallArm))
	f.Add([]byte(`{"format":1,"runs":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		arm, err := eval.DecodeArm(raw)
		if err != nil {
			return
		}
		doc, err := eval.EncodeArm(arm)
		if err != nil {
			t.Fatal(err)
		}
		again, err := eval.DecodeArm(doc)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := eval.EncodeArm(again); err != nil || string(twice) != string(doc) {
			t.Errorf("it is written in another way the second time (%v)\n%s", err, cmp.Diff(string(doc), string(twice)))
		}
	})
}
