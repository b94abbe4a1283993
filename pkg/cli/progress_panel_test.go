package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestPanel(t *testing.T) {
	now := time.Date(2026, 11, 30, 2, 4, 0, 0, time.UTC)
	busy := panel{
		status: Status{
			Done: 262, Total: 400, Running: 16, Queued: 122,
			Counts: eval.VerdictCounts{Pass: 216, Fail: 42, Error: 4},
			Slowest: []RunningTrial{
				{"github/triage-0042", "loading=eager,model=fast", 3, now.Add(-101 * time.Second), ""},
				{"web/search-0007", "loading=search,model=fast", 1, now.Add(-12 * time.Second), ""},
				{"计算/総和", "default", 1, now.Add(-time.Second), ""},
				{"not/shown", "default", 1, now, ""},
			},
		},
		eta: 250 * time.Second, known: true, now: now,
	}
	limited := busy
	limited.known = false
	limited.status.Waits = "waits for $0.06 that other runs hold of the day"
	for _, key := range []string{"openai:1/a", "openai:1/b", "openai:1/c"} {
		limited.status.Limits = append(limited.status.Limits, []string{key + "  2 of 8 in flight", "02:03:10 4 in flight (grow) → 02:03:12 8 in flight (told)"})
	}
	for _, test := range []struct {
		name          string
		panel         panel
		width, height int
		color         bool
	}{
		{"busy-80", busy, 80, 24, false},
		{"busy-40", busy, 40, 24, false},
		{"busy-80-color", busy, 80, 24, true},
		{"busy-80x6", busy, 80, 6, false},
		{"limited-80", limited, 80, 24, false},
		{"limited-80x11", limited, 80, 11, false},
		{"limited-80x6", limited, 80, 6, false},
		{"start-80", panel{status: Status{Total: 30}, now: now}, 80, 24, false},
		{"done-80", panel{status: Status{Done: 30, Total: 30, Counts: eval.VerdictCounts{Pass: 28, Unjudged: 1, Unfinished: 1, Skipped: 3}}, now: now}, 80, 24, false},
		{"nothing-80", panel{now: now}, 80, 24, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			golden(t, "panel-"+test.name+".txt", test.panel.view(test.width, test.height, newPalette(test.color))+"\n")
		})
	}
}

// Whatever runs, and however small the terminal is, no line is wider than it and
// the panel leaves it a line.
func TestPanelFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1e9, 0)
		p := panel{
			status: Status{
				Done:    rapid.IntRange(0, 2_000_000).Draw(t, "done"),
				Total:   rapid.IntRange(0, 2_000_000).Draw(t, "total"),
				Running: rapid.IntRange(0, 1000).Draw(t, "running"),
				Queued:  rapid.IntRange(0, 1000).Draw(t, "queued"),
				Counts: eval.VerdictCounts{
					Pass:  rapid.IntRange(0, 2_000_000).Draw(t, "pass"),
					Error: rapid.IntRange(0, 2_000_000).Draw(t, "error"),
				},
			},
			eta: time.Duration(rapid.Int64().Draw(t, "eta")), known: rapid.Bool().Draw(t, "known"), now: now,
		}
		for range rapid.IntRange(0, 6).Draw(t, "slowest") {
			p.status.Slowest = append(p.status.Slowest, RunningTrial{
				Case: rapid.String().Draw(t, "case"), Variant: rapid.String().Draw(t, "variant"), Repeat: 1,
				Since: now.Add(-time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "since"))),
			})
		}
		for range rapid.IntRange(0, 6).Draw(t, "limits") {
			p.status.Limits = append(p.status.Limits, rapid.SliceOfN(rapid.StringMatching(`[a-z0-9 →]*`), 1, 2).Draw(t, "lines"))
		}
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(3, 50).Draw(t, "height")
		lines := strings.Split(p.view(width, height, newPalette(rapid.Bool().Draw(t, "color"))), "\n")
		if len(lines) > height-1 {
			t.Errorf("got %d lines, want fewer than %d", len(lines), height)
		}
		for _, line := range lines {
			if got := lipgloss.Width(line); got > width {
				t.Errorf("got %d columns, want at most %d: %q", got, width, line)
			}
		}
	})
}

func TestPace(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []Status
		want  time.Duration
		known bool
	}{
		{"nothing yet", []Status{{Total: 10}}, 0, false},
		{"no trial done yet", []Status{{Total: 10}, {Total: 10, Elapsed: time.Minute}}, 0, false},
		{"a quarter done", []Status{{Total: 400}, {Done: 100, Total: 400, Elapsed: time.Minute}}, 3 * time.Minute, true},
		{"resumed at half", []Status{{Done: 200, Total: 400}, {Done: 300, Total: 400, Elapsed: time.Minute}}, time.Minute, true},
		{"a limit pauses", []Status{{Total: 400}, {Done: 100, Total: 400, Elapsed: time.Minute, Paused: time.Unix(1e9, 0)}}, 0, false},
		{"all done", []Status{{Total: 4}, {Done: 4, Total: 4, Elapsed: time.Minute}}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p pace
			var got time.Duration
			var known bool
			for _, s := range test.steps {
				got, known = p.eta(s)
			}
			if got != test.want || known != test.known {
				t.Errorf("got %v, %v, want %v, %v", got, known, test.want, test.known)
			}
		})
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                  "0s",
		400 * time.Millisecond:        "0s",
		59600 * time.Millisecond:      "1m00s",
		41 * time.Second:              "41s",
		250 * time.Second:             "4m10s",
		3*time.Hour + 125*time.Second: "3h02m",
	} {
		t.Run(fmt.Sprint(d), func(t *testing.T) {
			if got := short(d); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func BenchmarkPanel(b *testing.B) {
	p := panel{status: Status{Done: 262, Total: 400, Running: 16, Slowest: []RunningTrial{{Case: "a"}, {Case: "b"}, {Case: "c"}}}}
	paint := newPalette(true)
	for b.Loop() {
		p.view(80, 24, paint)
	}
}
