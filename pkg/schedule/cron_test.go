package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func cron(t *testing.T, expression, zone string) *Cron {
	t.Helper()
	c, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// between lists what is due after one moment up to another one, as clocks show it.
func between(t *testing.T, c *Cron, from, until string) []string {
	t.Helper()
	end := at(t, until)
	var due []string
	for next := c.Next(at(t, from)); !next.After(end); next = c.Next(next) {
		due = append(due, next.Format("2006-01-02 15:04 -0700"))
	}
	return due
}

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name, expression, zone string
		from, until            string
		want                   []string
	}{
		{"every day", "30 2 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z", []string{"2026-01-01 02:30 +0100", "2026-01-02 02:30 +0100"}},
		{"not at its own time", "0 0 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", []string{"2026-01-02 00:00 +0000"}},
		{"a second before", "0 0 * * *", "UTC", "2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", []string{"2026-01-01 00:00 +0000"}},
		{"a nickname", "@weekly", "UTC", "2026-01-01T00:00:00Z", "2026-01-12T00:00:00Z", []string{"2026-01-04 00:00 +0000", "2026-01-11 00:00 +0000"}},
		{"steps", "*/20 8-9 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00Z", []string{"2026-01-01 08:00 +0000", "2026-01-01 08:20 +0000", "2026-01-01 08:40 +0000", "2026-01-01 09:00 +0000"}},
		{"a step from a value", "0 20/2 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T23:59:00Z", []string{"2026-01-01 20:00 +0000", "2026-01-01 22:00 +0000"}},
		{"a list of names", "0 0 * feb,APR mon", "UTC", "2026-02-20T00:00:00Z", "2026-04-08T00:00:00Z", []string{"2026-02-23 00:00 +0000", "2026-04-06 00:00 +0000"}},
		{"a range to Sunday", "0 0 * * sat-sun", "UTC", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z", []string{"2026-01-03 00:00 +0000", "2026-01-04 00:00 +0000"}},
		{"Sunday is 7 too", "0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z", []string{"2026-01-04 00:00 +0000"}},
		{"either day", "0 0 13 * fri", "UTC", "2026-03-01T00:00:00Z", "2026-03-14T00:00:00Z", []string{"2026-03-06 00:00 +0000", "2026-03-13 00:00 +0000"}},
		{"both days, where one is *", "0 0 13 * */5", "UTC", "2026-01-01T00:00:00Z", "2026-03-14T00:00:00Z", []string{"2026-02-13 00:00 +0000", "2026-03-13 00:00 +0000"}},
		{"the last of February", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-12-31T00:00:00Z", []string{"2104-02-29 00:00 +0000"}},

		{"Berlin, a skipped time", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", []string{"2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"}},
		{"Berlin, a doubled time", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", []string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"}},
		{"Berlin, between the two", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", "2026-10-26T12:00:00Z", []string{"2026-10-26 02:30 +0100"}},
		{"Berlin, all skipped times together", "*/15 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z", []string{"2026-03-29 03:00 +0200", "2026-03-29 03:15 +0200", "2026-03-29 03:30 +0200", "2026-03-29 03:45 +0200"}},
		{"Berlin, every second hour in autumn", "0 */2 * * *", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-25T03:00:00Z", []string{"2026-10-25 00:00 +0200", "2026-10-25 02:00 +0200", "2026-10-25 04:00 +0100"}},
		{"Berlin, every hour in spring", "30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z", []string{"2026-03-29 01:30 +0100", "2026-03-29 03:30 +0200"}},
		{"Berlin, every hour in autumn", "30 * * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T02:00:00Z", []string{"2026-10-25 01:30 +0200", "2026-10-25 02:30 +0200", "2026-10-25 02:30 +0100"}},
		{"New York in spring", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z", []string{"2026-03-08 03:00 -0400", "2026-03-09 02:30 -0400"}},
		{"New York in autumn", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z", []string{"2026-11-01 01:30 -0400", "2026-11-02 01:30 -0500"}},
		{"Lord Howe in spring", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z", []string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"}},
		{"Lord Howe in autumn", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z", []string{"2026-04-05 01:45 +1100", "2026-04-06 01:45 +1030"}},
		{"Lord Howe every hour in autumn", "45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", "2026-04-04T16:30:00Z", []string{"2026-04-05 01:45 +1100", "2026-04-05 01:45 +1030", "2026-04-05 02:45 +1030"}},
		{"a zone that keeps its clocks", "30 2 * * *", "Asia/Kolkata", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", []string{"2026-03-29 02:30 +0530", "2026-03-30 02:30 +0530"}},
		{"midnight is skipped", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-25T12:00:00Z", []string{"2026-04-24 01:00 +0300", "2026-04-25 00:00 +0300"}},
		{"back over midnight", "*/30 * * * *", "Africa/Cairo", "2026-10-29T19:30:00Z", "2026-10-29T22:00:00Z", []string{"2026-10-29 23:00 +0300", "2026-10-29 23:30 +0300", "2026-10-29 23:00 +0200", "2026-10-29 23:30 +0200", "2026-10-30 00:00 +0200"}},
		{"a day is skipped", "0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2012-12-31T00:00:00Z", []string{"2011-12-31 00:00 +1400", "2012-12-30 12:00 +1400"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := between(t, cron(t, tt.expression, tt.zone), tt.from, tt.until)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
		})
	}
}

// In a year with changes of the clocks there are 365 nights, and as many firings, at
// whatever time.
func TestEveryNightOnce(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "Asia/Kathmandu"} {
		for _, expression := range []string{"0 0 * * *", "30 0 * * *", "59 0 * * *", "0 1 * * *", "30 1 * * *", "15 2 * * *", "45 2 * * *", "0 3 * * *"} {
			c := cron(t, expression, zone)
			days := map[string]int{}
			first := time.Date(2026, 1, 1, 0, 0, 0, -1, c.zone)
			for next := c.Next(first); next.Year() == 2026; next = c.Next(next) {
				days[next.Format(time.DateOnly)]++
			}
			if len(days) != 365 {
				t.Errorf("%s in %s: got firings on %d days, want 365", expression, zone, len(days))
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s in %s: got %d firings on %s, want one", expression, zone, n, day)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ name, expression, zone, want string }{
		{"nothing", "", "UTC", `cron "": want five fields (minute, hour, day of the month, month, day of the week), got 0`},
		{"seconds", "0 0 2 * * *", "UTC", "want five fields (minute, hour, day of the month, month, day of the week), got 6"},
		{"no such minute", "60 2 * * *", "UTC", `minute "60": want a number from 0 to 59, got "60"`},
		{"no such hour", "0 24 * * *", "UTC", `hour "24": want a number from 0 to 23, got "24"`},
		{"no such month", "0 0 1 janu *", "UTC", `month "janu": want a number from 1 to 12, or jan to dec, got "janu"`},
		{"no such weekday", "0 0 * * 8", "UTC", `day of the week "8": want a number from 0 to 7, or sun to sat, got "8"`},
		{"day zero", "0 0 0 * *", "UTC", `day of the month "0"`},
		{"backwards", "0 9-8 * * *", "UTC", "the range 9-8 goes backwards"},
		{"no step", "*/0 * * * *", "UTC", `a step is a whole number from 1 to 59, got "0"`},
		{"an empty item", "0,,1 * * * *", "UTC", `minute "0,,1": want a number from 0 to 59, got ""`},
		{"a sign", "+5 * * * *", "UTC", `got "+5"`},
		{"a question mark", "0 0 ? * *", "UTC", `got "?"`},
		{"impossible", "0 0 31 2 *", "UTC", `cron "0 0 31 2 *": no month of it has such a day`},
		{"impossible months", "0 0 31 4,6,9,11 *", "UTC", "no month of it has such a day"},
		{"impossible on some days", "0 0 30 2 */2", "UTC", "no month of it has such a day"},
		{"every so often", "@every 5m", "UTC", "there is no @every 5m; want @yearly, @monthly"},
		{"a zone within", "TZ=UTC 0 0 * * *", "UTC", "got 6"},
		{"no such zone", "0 0 * * *", "Europe/Berln", `there is no time zone "Europe/Berln"; want an IANA name such as Europe/Berlin, or UTC`},
		{"no zone", "0 0 * * *", "", `there is no time zone ""`},
		{"the zone of wherever it runs", "0 0 * * *", "Local", `there is no time zone "Local"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.expression, tt.zone)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestClock(t *testing.T) {
	c, err := Clock("06:00", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Next(at(t, "2026-03-28T23:30:00Z")), at(t, "2026-03-29T04:00:00Z"); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, text := range []string{"", "6", "25:00", "06:60", "6 am"} {
		if _, err := Clock(text, "UTC"); err == nil {
			t.Errorf("got no error for %q", text)
		}
	}
}

func TestJitter(t *testing.T) {
	due := at(t, "2026-03-29T01:00:00Z")
	seen := map[time.Duration]bool{}
	for _, name := range []string{"nightly", "weekly"} {
		for day := range 50 {
			got := Jitter(name, due.AddDate(0, 0, day), time.Hour)
			if got < 0 || got >= time.Hour {
				t.Errorf("got %s, want less than an hour", got)
			}
			if again := Jitter(name, due.AddDate(0, 0, day), time.Hour); again != got {
				t.Errorf("got %s, and then %s", got, again)
			}
			seen[got] = true
		}
	}
	if len(seen) < 100 {
		t.Errorf("got %d different ones of 100", len(seen))
	}
	if got := Jitter("nightly", due, 0); got != 0 {
		t.Errorf("got %s without a bound", got)
	}
}
