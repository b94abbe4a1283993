package schedule

import (
	"testing"
	"time"
)

// What parses is due some time, later each time, and at a minute that matches
// unless the clocks skipped it.
func FuzzParse(f *testing.F) {
	for _, expression := range []string{"30 2 * * *", "@daily", "*/7 8-18/2 1,15 jan-mar mon-sun", "0 0 29 2 */7", "59 23 31 12 7", "0 0 31 2 *"} {
		for _, zone := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"} {
			f.Add(expression, zone, int64(1774746000))
		}
	}
	f.Fuzz(func(t *testing.T, expression, zone string, unix int64) {
		c, err := Parse(expression, zone)
		if err != nil {
			return
		}
		after := time.Unix(unix%(200*365*86400), 0)
		for range 3 {
			next := c.Next(after)
			if !next.After(after) {
				t.Fatalf("%q in %s: %s is due after %s", expression, zone, next, after)
			}
			begin, _ := next.ZoneBounds()
			if !has(c.minute, next.Minute()) && !next.Equal(begin) && next.Year() > 1980 {
				t.Fatalf("%q in %s: %s is due", expression, zone, next)
			}
			after = next
		}
	})
}
