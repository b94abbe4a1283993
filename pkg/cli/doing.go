package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/report"
)

// doing says in words what an attempt does, or what it waits for and until when.
func doing(a eval.Activity, now time.Time) string {
	on := report.Line(a.On, 80)
	switch a.Doing {
	case eval.DoingStart:
		return strings.TrimSpace("starts its server " + on)
	case eval.DoingModel:
		return "asks " + on
	case eval.DoingTool:
		return "calls " + on
	case eval.DoingScore:
		return "is scored"
	case eval.DoingJudge:
		return "is judged"
	case eval.DoingBackoff:
		return fmt.Sprintf("waits out %s: %s%s", on, strings.ReplaceAll(a.Why, "_", " "), until(a.Until, now))
	case eval.DoingLimiter:
		text := fmt.Sprintf("waits for %s: %s%s", on, reason(limit.Why(a.Why)), until(a.Until, now))
		if a.Before > 0 {
			text += fmt.Sprintf(", %d before it", a.Before)
		}
		return text
	default:
		return string(a.Doing)
	}
}

// reason says what a caller of the limiter waits for.
func reason(w limit.Why) string {
	switch w {
	case limit.WhyRequests:
		return "requests per minute"
	case limit.WhyTokens:
		return "tokens per minute"
	case limit.WhyInFlight:
		return "calls in flight"
	case limit.WhyPause:
		return "the provider asked for a pause"
	case limit.WhyTurn:
		return "its turn"
	case limit.WhyGate:
		return "the limiter is away"
	default:
		return string(w)
	}
}

func until(t, now time.Time) string {
	if t.IsZero() || !t.After(now) {
		return ""
	}
	return fmt.Sprintf(", until %s (in %s)", t.Local().Format(time.TimeOnly), short(t.Sub(now)))
}

// limitLine says how one key of the limiter stands.
func limitLine(l eval.LimitState, now time.Time) string {
	var parts []string
	bound := fmt.Sprintf("%d in flight", l.InFlight)
	if l.Concurrent > 0 {
		bound = fmt.Sprintf("%d of %d in flight", l.InFlight, l.Concurrent)
	}
	parts = append(parts, bound)
	if l.RequestsPerMinute > 0 {
		parts = append(parts, fmt.Sprintf("%.4g requests/min", l.RequestsPerMinute))
	}
	if l.Adaptive {
		parts = append(parts, "found out")
	}
	if l.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", l.Waiting))
	}
	if l.PausedUntil.After(now) {
		parts = append(parts, "paused"+strings.TrimPrefix(until(l.PausedUntil, now), ","))
	}
	parts = append(parts, fmt.Sprintf("%d calls", l.Calls))
	if l.RateLimited > 0 {
		parts = append(parts, fmt.Sprintf("%d times 429", l.RateLimited))
	}
	return report.Line(l.Key, 80) + "  " + strings.Join(parts, ", ")
}

// shownChanges is how many steps of an adaptive limit are printed.
const shownChanges = 6

// history says how a limit came to be what it is.
func history(l eval.LimitState) string {
	var steps []string
	for _, h := range l.History[max(0, len(l.History)-shownChanges):] {
		var what []string
		if h.Concurrent > 0 {
			what = append(what, fmt.Sprintf("%d in flight", h.Concurrent))
		}
		if h.RequestsPerMinute > 0 {
			what = append(what, fmt.Sprintf("%.4g/min", h.RequestsPerMinute))
		}
		steps = append(steps, fmt.Sprintf("%s %s (%s)", h.At.Local().Format(time.TimeOnly), strings.Join(what, " "), strings.ReplaceAll(h.Why, "_", " ")))
	}
	return strings.Join(steps, " → ")
}

// waits says what a run waits for as a whole, before it begins another trial.
func waits(l eval.Live) string {
	if l.HeldElsewhereMicroUSD == 0 {
		return ""
	}
	return fmt.Sprintf("waits for %s that other runs hold of the day", eval.USD(l.HeldElsewhereMicroUSD))
}

// shownRunning is how many running trials `status` names.
const shownRunning = 20

// liveLines are what `status` prints of a run that goes on.
func liveLines(l eval.Live, now time.Time) []string {
	var lines []string
	if w := waits(l); w != "" {
		lines = append(lines, "  "+w)
	}
	if l.NoWorker {
		lines = append(lines, "  waits for a worker; none takes trials now")
	}
	if l.Quota > 0 {
		lines = append(lines, fmt.Sprintf("  begins no more while its tenant has %s out, its quota", plural(l.Quota, "trial")))
	}
	for _, requires := range l.Lacking {
		lines = append(lines, "  waits for a worker with "+strings.ReplaceAll(report.Line(requires, 120), ".", " and "))
	}
	running := slices.Clone(l.Running)
	slices.SortStableFunc(running, func(a, b eval.Activity) int { return a.Since.Compare(b.Since) })
	for i, a := range running {
		if i == shownRunning {
			lines = append(lines, fmt.Sprintf("  … %d more running", len(running)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", trialName(a.Case, a.Variant, a.Repeat), cmp.Or(short(now.Sub(a.Since)), "0s"), doing(a, now)))
	}
	for _, s := range l.Limits {
		lines = append(lines, "  limit  "+limitLine(s, now))
		if h := history(s); h != "" {
			lines = append(lines, "         "+h)
		}
	}
	return lines
}
