package schedule

import (
	"fmt"
	"time"
)

// Clock reads a time of day such as "06:00". It is due once a day.
func Clock(text, zone string) (*Cron, error) {
	of, err := time.Parse("15:04", text)
	if err != nil {
		return nil, fmt.Errorf("want a time of day such as 06:00, got %q", text)
	}
	return Parse(fmt.Sprintf("%d %d * * *", of.Minute(), of.Hour()), zone)
}
