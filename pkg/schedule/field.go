package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// A field is one of the five parts of a cron expression.
type field struct {
	name      string
	low, high int
	// names of values, from first on.
	names []string
	first int
}

func fields() []field {
	return []field{
		{name: "minute", high: 59},
		{name: "hour", high: 23},
		{name: "day of the month", low: 1, high: 31},
		{name: "month", low: 1, high: 12, first: 1, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{name: "day of the week", high: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// parse turns a field into a bit for each value.
func (f field) parse(text string) (uint64, error) {
	var bits uint64
	for item := range strings.SplitSeq(text, ",") {
		more, err := f.item(item)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		bits |= more
	}
	if f.high == 7 && has(bits, 7) { // Sunday
		bits = bits&^(1<<7) | 1
	}
	return bits, nil
}

// item is a value, a range or *, with a step if need be.
func (f field) item(text string) (bits uint64, err error) {
	text, every, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		if step, err = strconv.Atoi(every); err != nil || step < 1 || step > f.high {
			return 0, fmt.Errorf("a step is a whole number from 1 to %d, got %q", f.high, every)
		}
	}
	low, high := f.low, f.high
	if f.high == 7 && text == "*" {
		high = 6 // else a step would meet Sunday twice
	}
	if text != "*" {
		from, to, ranged := strings.Cut(text, "-")
		if low, err = f.value(from); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			if high, err = f.value(to); err != nil {
				return 0, err
			}
			if f.high == 7 && high == 0 { // a week may end on Sunday
				high = 7
			}
		case !stepped:
			high = low
		}
		if high < low {
			return 0, fmt.Errorf("the range %s goes backwards", text)
		}
	}
	for i := low; i <= high; i += step {
		bits |= 1 << i
	}
	return bits, nil
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.first + i, nil
		}
	}
	want := fmt.Sprintf("a number from %d to %d", f.low, f.high)
	if len(f.names) > 0 {
		want += fmt.Sprintf(", or %s to %s", f.names[0], f.names[len(f.names)-1])
	}
	i, err := strconv.Atoi(text)
	if err != nil || i < f.low || i > f.high || strings.ContainsAny(text, "+-") {
		return 0, fmt.Errorf("want %s, got %q", want, text)
	}
	return i, nil
}
