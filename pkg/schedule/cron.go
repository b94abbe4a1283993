// Package schedule says when something is due that is due again and again: by a
// cron expression, on the clocks of a time zone.
//
// A clock that is put forward or back neither loses nor doubles anything. A time
// that a clock skips is due once, at the first moment after the gap; a time that it
// shows twice is due once, the first time. An expression whose hour is * is due in
// every real hour, whatever clocks show.
//
// The database of time zones is embedded; the system's goes before it.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones of machines that have none
)

// A Cron is a cron expression in a time zone. Make one with Parse.
type Cron struct {
	zone                              *time.Location
	minute, hour, day, month, weekday uint64 // a bit for each value
	// either is true if days of the month and of the week are both restricted: then
	// one of them is enough, as crontab(5) has it.
	either bool
	// flowing is true if every hour matches: then it is due by the passing of time,
	// not by what clocks show.
	flowing bool
}

// nicknames are what crontab(5) calls its extensions.
func nicknames() map[string]string {
	return map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
}

// Parse reads a cron expression of five fields, or a nickname such as @daily: minute,
// hour, day of the month, month, day of the week, as in crontab(5). A field is *, or
// a list of numbers, names and ranges, each with a step if need be: "*/15",
// "mon-fri", "1,15". Sunday is 0 and 7. Zone is the IANA name of a time zone.
//
// An expression that is never due, such as one for the 31st of February, is an error.
func Parse(expression, zone string) (*Cron, error) {
	c, err := parse(expression)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w", expression, err)
	}
	if c.zone, err = Zone(zone); err != nil {
		return nil, err
	}
	return c, nil
}

// Zone finds a time zone by its IANA name.
func Zone(name string) (*time.Location, error) {
	// "Local" is another one on each machine, and the empty name is easily one that
	// was forgotten.
	if name != "" && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("there is no time zone %q; want an IANA name such as Europe/Berlin, or UTC", name)
}

func parse(expression string) (*Cron, error) {
	text := strings.TrimSpace(expression)
	if strings.HasPrefix(text, "@") {
		fields, known := nicknames()[text]
		if !known {
			return nil, fmt.Errorf("there is no %s; want @yearly, @monthly, @weekly, @daily or @hourly, or five fields", text)
		}
		text = fields
	}
	texts := strings.Fields(text)
	if len(texts) != len(fields()) {
		return nil, fmt.Errorf("want five fields (minute, hour, day of the month, month, day of the week), got %d", len(texts))
	}
	var bits [5]uint64
	for i, f := range fields() {
		var err error
		if bits[i], err = f.parse(texts[i]); err != nil {
			return nil, err
		}
	}
	c := &Cron{minute: bits[0], hour: bits[1], day: bits[2], month: bits[3], weekday: bits[4]}
	c.flowing = c.hour == 1<<24-1
	c.either = !strings.HasPrefix(texts[2], "*") && !strings.HasPrefix(texts[4], "*")
	if !c.either && !c.possible() {
		return nil, errors.New("no month of it has such a day")
	}
	return c, nil
}

// possible says whether a month that matches is long enough for a day that does.
// Every date is on every day of the week some year.
func (c *Cron) possible() bool {
	for month := time.January; month <= time.December; month++ {
		longest := time.Date(2000, month+1, 0, 0, 0, 0, 0, time.UTC).Day() // of a leap year
		if has(c.month, int(month)) && c.day&(1<<(longest+1)-1) != 0 {
			return true
		}
	}
	return false
}

func has(bits uint64, i int) bool { return bits&(1<<i) != 0 }
