package schedule

import "time"

// Next is the first moment after another one at which the expression is due, in its
// time zone.
func (c *Cron) Next(after time.Time) time.Time {
	if c.flowing {
		return c.flow(after)
	}
	// What clocks have shown already is not due any more, also if they were put back
	// since and will show it again.
	shown := after.In(c.zone)
	day := civil(shown.Date())
	now := day.Add(time.Duration(shown.Hour()*60+shown.Minute()) * time.Minute)
	for {
		if !has(c.month, int(day.Month())) {
			day = civil(day.Year(), day.Month()+1, 1)
			continue
		}
		if c.on(day) {
			for hour := range 24 {
				for minute := range 60 {
					if !has(c.hour, hour) || !has(c.minute, minute) {
						continue
					}
					due := day.Add(time.Duration(hour*60+minute) * time.Minute)
					if !due.After(now) {
						continue
					}
					if at := moment(due, c.zone); at.After(after) {
						return at
					}
				}
			}
		}
		day = day.AddDate(0, 0, 1)
	}
}

// flow is Next of an expression that is due in every hour of its days.
func (c *Cron) flow(after time.Time) time.Time {
	at := after.In(c.zone)
	at = at.Add(time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
	for {
		today := civil(at.Date())
		if has(c.month, int(today.Month())) && c.on(today) {
			if has(c.minute, at.Minute()) {
				return at
			}
			at = at.Add(time.Minute)
			continue
		}
		tomorrow := moment(today.AddDate(0, 0, 1), c.zone)
		if !tomorrow.After(at) { // clocks were put back over midnight
			tomorrow = at.Add(time.Minute)
		}
		at = tomorrow
	}
}

// on says whether a day of a matching month matches.
func (c *Cron) on(day time.Time) bool {
	month, week := has(c.day, day.Day()), has(c.weekday, int(day.Weekday()))
	if c.either {
		return month || week
	}
	return month && week
}

// civil is a date as calendars have it, wherever.
func civil(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// moment is when the clocks of a zone show a time, given as that of UTC: the first
// such moment or, if they skip it, the first one after the gap.
func moment(shown time.Time, zone *time.Location) time.Time {
	// Go gives some moment of the two offsets around a change of the clocks.
	near := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), 0, 0, zone)
	var first time.Time
	begin, end := near.ZoneBounds()
	for _, of := range []time.Time{near, begin.Add(-1), end} {
		_, offset := of.Zone()
		at := shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if at.Hour() == shown.Hour() && at.Minute() == shown.Minute() && at.Day() == shown.Day() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		return first
	}
	for _, change := range []time.Time{begin, end} {
		_, before := change.Add(-1).Zone()
		_, after := change.Zone()
		// Clocks that kept UTC would show it so long after the change.
		if gone := shown.Unix() - change.Unix(); gone >= int64(before) && gone < int64(after) {
			return change
		}
	}
	return near
}
