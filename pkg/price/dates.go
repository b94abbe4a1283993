package price

import (
	"regexp"
	"strings"
	"time"
)

var dateRE = regexp.MustCompile(`-20[0-9]{6}`)

// dashedDates writes dates in a name as the rules of some providers have them:
// gpt-6-sol-20260901 as gpt-6-sol-2026-09-01.
func dashedDates(name string) string {
	var b strings.Builder
	last := 0
	for _, at := range dateRE.FindAllStringIndex(name, -1) {
		day, err := time.Parse("20060102", name[at[0]+1:at[1]])
		rest := name[at[1]:]
		if err != nil || rest != "" && rest[0] != '-' && rest[0] != ':' {
			continue
		}
		b.WriteString(name[last : at[0]+1])
		b.WriteString(day.Format(time.DateOnly))
		last = at[1]
	}
	return b.String() + name[last:]
}
