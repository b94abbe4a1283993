package farmfile

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schedule"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

type (
	overlap string
	catchUp string
	// clock is a time of day.
	clock string
)

func (overlap) Choices() []string {
	return []string{string(eval.OverlapSkip), string(eval.OverlapQueue), string(eval.OverlapCancel)}
}

func (catchUp) Choices() []string {
	return []string{string(eval.CatchUpSkip), string(eval.CatchUpOnce), string(eval.CatchUpAll)}
}

const clockPattern = `^([01][0-9]|2[0-3]):[0-5][0-9]$`

var clockRE = regexp.MustCompile(clockPattern)

func (clock) Pattern() string { return clockPattern }

func (c *clock) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.String && !n.Loose || !clockRE.MatchString(n.Text) {
		d.Want(n, "a time of day such as 06:00")
		return
	}
	*c = clock(n.Text)
}

// ScheduleName is what schedules may be called.
var ScheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Bounds of schedules.
const (
	MaxJitter  = 24 * time.Hour
	MaxCatchUp = 10
)

func (b *build) schedules(f *farmFile) {
	for _, name := range slices.Sorted(maps.Keys(f.Schedules)) {
		entry := f.Schedules[name]
		if !ScheduleName.MatchString(name) {
			b.report(f.Node().Place("schedules", name), fmt.Sprintf("%q is no name for a schedule", name), "letters, digits, dots, dashes and underscores, at most 64")
		}
		if entry.Node().Kind != strictyaml.Map {
			continue // reported
		}
		b.out.Schedules = append(b.out.Schedules, b.schedule(name, &entry))
	}
}

func (b *build) schedule(name string, f *scheduleFile) eval.Schedule {
	at := f.Node()
	s := eval.Schedule{
		Name: name, Cron: string(f.Cron), Timezone: cmp.Or(string(f.Timezone), "UTC"), Jitter: time.Duration(f.Jitter),
		Overlap: eval.Overlap(cmp.Or(f.Overlap, overlap(eval.OverlapSkip))), CatchUp: eval.CatchUp(cmp.Or(f.CatchUp, catchUp(eval.CatchUpOnce))),
		CatchUpLimit: int(f.CatchUpLimit), FinishBy: string(f.FinishBy),
		Suite: b.path(f.Suite), With: b.path(f.With), Vars: f.Vars, Cases: f.Cases, Tags: f.Tags, Axes: f.Axes, Repeats: int(f.Repeats), Paused: f.Paused,
		Baseline: string(f.Baseline), Gate: b.path(f.Gate),
		Tenant: string(f.Tenant), Priority: int(f.Priority),
	}
	if f.Budget != nil {
		s.BudgetMicroUSD = int64(f.Budget.USD)
	}
	for _, name := range f.Notifications {
		s.Notifications = append(s.Notifications, string(name))
	}
	for _, p := range CheckSchedule(s) {
		at := at.Get(p.Key)
		if at == nil || at.Bad {
			continue // reported
		}
		b.report(at.Pos, p.Message, p.Hint)
	}
	if s.CatchUp == eval.CatchUpAll {
		s.CatchUpLimit = cmp.Or(s.CatchUpLimit, MaxCatchUp)
	}
	return s
}

// named wants the tenants and the notifications that schedules name to be there.
func (b *build) named(f *farmFile) {
	tenants, targets := slices.Sorted(maps.Keys(f.Tenants)), slices.Sorted(maps.Keys(f.Notifications))
	for _, entry := range f.Schedules {
		if entry.Node().Kind != strictyaml.Map {
			continue // reported
		}
		if n := entry.Node().Get("tenant"); n != nil && !n.Bad && entry.Tenant != "" {
			switch {
			case !TenantName(n.Text):
				b.report(n.Pos, "this is no name of a tenant", "letters, digits, . _ and -, at most 64 of them")
			case len(tenants) > 0:
				b.known(n, "tenant", tenants)
			}
		}
		if n := entry.Node().Get("notifications"); n != nil && n.Kind == strictyaml.List {
			for _, item := range n.Items {
				if item.Kind == strictyaml.String {
					b.known(item, "target under notifications", targets)
				}
			}
		}
	}
}

// known wants a text to be one of several names of the file.
func (b *build) known(n *strictyaml.Node, what string, names []string) {
	if n.Bad || n.Text == "" || slices.Contains(names, n.Text) {
		return // right, or reported
	}
	hint := strictyaml.DidYouMean(n.Text, names)
	if hint == "" && len(names) > 0 {
		hint = "it has " + strings.Join(names, ", ")
	}
	b.report(n.Pos, fmt.Sprintf("the file has no %s %s", what, strictyaml.Quote(n.Text)), hint)
}

// path is a path in the file as others find it.
func (b *build) path(text word) string {
	if text == "" || b.dir == "" || filepath.IsAbs(string(text)) {
		return string(text)
	}
	return filepath.Join(b.dir, string(text))
}

// A ScheduleProblem is what is wrong with one key of a schedule.
type ScheduleProblem struct{ Key, Message, Hint string }

// CheckSchedule finds what is wrong with the times of a schedule, and with what it
// selects.
func CheckSchedule(s eval.Schedule) []ScheduleProblem {
	var all []ScheduleProblem
	report := func(key, message, hint string) { all = append(all, ScheduleProblem{key, message, hint}) }
	if _, err := schedule.Zone(s.Timezone); err != nil {
		report("timezone", err.Error(), "")
	}
	if _, err := schedule.Parse(s.Cron, "UTC"); err != nil {
		report("cron", err.Error(), "")
	}
	if s.FinishBy != "" && !clockRE.MatchString(s.FinishBy) {
		report("finish_by", "want a time of day such as 06:00, got "+strictyaml.Quote(s.FinishBy), "")
	}
	if s.Jitter < 0 || s.Jitter > MaxJitter {
		report("jitter", "it is at most 24h", "")
	}
	choice := func(key, text string, of []string) {
		if !slices.Contains(of, text) {
			report(key, fmt.Sprintf("want one of %s; got %s", strings.Join(of, ", "), strictyaml.Quote(text)), strictyaml.DidYouMean(text, of))
		}
	}
	choice("overlap", string(s.Overlap), overlap("").Choices())
	choice("catch_up", string(s.CatchUp), catchUp("").Choices())
	if s.CatchUp == eval.CatchUpAll && s.Overlap != eval.OverlapQueue {
		report("catch_up", `"all" wants the overlap "queue"`, "they are due at once, and the first of them would be in the way of the others")
	}
	switch {
	case s.CatchUpLimit != 0 && s.CatchUp != eval.CatchUpAll:
		report("catch_up_limit", `it is for the catch-up "all"`, "leave it out")
	case s.CatchUpLimit < 0 || s.CatchUpLimit > MaxCatchUp:
		report("catch_up_limit", fmt.Sprintf("want a number from 1 to %d", MaxCatchUp), "")
	}
	if s.Priority < 0 {
		report("priority", "want a positive number; 1 is usual, 2 has twice its share", "")
	}
	for _, glob := range s.Cases {
		if _, err := filepath.Match(glob, ""); err != nil {
			report("cases", fmt.Sprintf("%s is no glob: %s", strictyaml.Quote(glob), err), "")
		}
	}
	return all
}
