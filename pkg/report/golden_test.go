package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/*.golden from what the code does")

// golden compares with testdata/name.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update accepts it):\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) {
	next := Options{Next: []string{"evalfarm show r-20261130-ABCDEF customer-active-enterprise", "evalfarm resume r-20261130-ABCDEF"}}
	tests := []struct {
		name  string
		write func(w *bytes.Buffer) error
	}{
		{"terminal-quickstart", func(w *bytes.Buffer) error {
			return Terminal(w, quickstart().document(t).Summary, Options{Next: next.Next[1:]})
		}},
		{"terminal-troubled", func(w *bytes.Buffer) error { return Terminal(w, troubled().document(t).Summary, next) }},
		{"terminal-troubled-colour", func(w *bytes.Buffer) error {
			return Terminal(w, troubled().document(t).Summary, Options{Color: true, Width: 60})
		}},
		{"terminal-big", func(w *bytes.Buffer) error { return Terminal(w, big().document(t).Summary, Options{}) }},
		{"terminal-flaky", func(w *bytes.Buffer) error { return Terminal(w, flaky().document(t).Summary, Options{}) }},
		{"terminal-flaky-narrow", func(w *bytes.Buffer) error { return Terminal(w, flaky().document(t).Summary, Options{Width: 70}) }},
		{"flaky.xml", func(w *bytes.Buffer) error { return JUnit(w, flaky().document(t).Summary) }},
		{"troubled.json", func(w *bytes.Buffer) error { return JSON(w, troubled().document(t).Summary) }},
		{"troubled.jsonl", func(w *bytes.Buffer) error { return JSONL(w, troubled().document(t)) }},
		{"troubled.xml", func(w *bytes.Buffer) error { return JUnit(w, troubled().document(t).Summary) }},
		{"quickstart.xml", func(w *bytes.Buffer) error { return JUnit(w, quickstart().document(t).Summary) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := tt.write(&buf); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, buf.Bytes())
		})
	}
}
