package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// TestJSONLKeys holds every line to the same keys, which are a public contract.
func TestJSONLKeys(t *testing.T) {
	var buf bytes.Buffer
	if err := JSONL(&buf, troubled().document(t)); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`attempt axes case cost_microusd counts ended findings judge_cost_microusd judge_usage kind labels listing message ordinal reason
		repeat run scores server started stop suite suite_hash tags times tools trace_id trajectory trajectory_hash
		usage user_usage variant verdict worker`)
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != 8 {
		t.Errorf("got %d lines, want 8: one for every result", len(lines))
	}
	last := -1
	for _, l := range lines {
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(l), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		var ordinal int
		if err := json.Unmarshal(got["ordinal"], &ordinal); err != nil || ordinal <= last {
			t.Errorf("ordinal %d after %d (error %v), want rising ones", ordinal, last, err)
		}
		last = ordinal
	}
}

func TestJSONLPassesErrorsOn(t *testing.T) {
	locked := errors.New("database is locked")
	doc := troubled().document(t)
	doc.Each = func(func(store.Row) error) error { return locked }
	if err := JSONL(&bytes.Buffer{}, doc); !errors.Is(err, locked) {
		t.Errorf("got error %v, want %v", err, locked)
	}
	full := errors.New("disk full")
	if err := JSONL(failing{full}, troubled().document(t)); !errors.Is(err, full) {
		t.Errorf("got error %v, want %v", err, full)
	}
}

// failing is a writer that cannot write.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestEveryFaceReportsAWriterThatFails(t *testing.T) {
	full := errors.New("disk full")
	doc := troubled().document(t)
	for name, format := range Formats() {
		if err := format(failing{full}, doc); !errors.Is(err, full) {
			t.Errorf("%s: got error %v, want %v", name, err, full)
		}
	}
	if err := Terminal(failing{full}, doc.Summary, Options{}); !errors.Is(err, full) {
		t.Errorf("terminal: got error %v, want %v", err, full)
	}
}
