package price

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A dated price counts from a day on, at some hours of each day, or always.
type dated struct {
	from  time.Time
	hours bool
	price eval.Price
	// whole says that it prices all of a call: its tokens in, its tokens out, and
	// nothing that a count of tokens does not tell.
	whole bool
}

// at is what a model costs at a time; false means that the list does not say. Of
// prices that count at some hours it takes the dearest of each number, because a
// bound has to hold all day.
func (m model) at(t time.Time) (price eval.Price, whole bool) {
	// Before the first day and between the hours, the first price counts.
	meant := []dated{m.prices[0]}
	for _, d := range slices.Backward(m.prices) {
		if t.Before(d.from) {
			continue
		}
		if !d.hours {
			meant[0] = d
			break
		}
		meant = append(meant, d)
	}
	price, whole = meant[0].price, meant[0].whole
	for _, d := range meant[1:] {
		price, whole = dearest(price, d.price), whole && d.whole
	}
	return price, whole
}

// parsePrices reads one price, or several, each of which but the first has its
// condition; the last that holds counts.
func parsePrices(data []byte) ([]dated, error) {
	if len(data) > 0 && data[0] != '[' {
		var single map[string]amount
		if err := json.Unmarshal(data, &single); err != nil {
			return nil, err
		}
		d, err := priceOf(single)
		return []dated{d}, err
	}
	var forms []struct {
		Constraint *constraint       `json:"constraint"`
		Prices     map[string]amount `json:"prices"`
	}
	if err := json.Unmarshal(data, &forms); err != nil {
		return nil, err
	}
	if len(forms) == 0 {
		return nil, errors.New("there are none")
	}
	prices := make([]dated, len(forms))
	for i, form := range forms {
		d, err := priceOf(form.Prices)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if form.Constraint != nil {
			d.from, d.hours, err = form.Constraint.read()
			if err != nil {
				return nil, fmt.Errorf("[%d]: constraint: %w", i, err)
			}
		}
		prices[i] = d
	}
	return prices, nil
}

// A constraint is a day from which on a price counts, or the hours of each day.
type constraint struct {
	Type      string `json:"type"`
	StartDate string `json:"start_date"`
}

// read returns the first day, and whether the price counts at some hours only;
// which they are is of no use.
func (c constraint) read() (from time.Time, hours bool, err error) {
	switch c.Type {
	case "start_date":
		from, err = time.Parse(time.DateOnly, c.StartDate)
		return from, false, err
	case "time_of_date":
		return time.Time{}, true, nil
	default:
		return time.Time{}, false, fmt.Errorf("there is no type %q", c.Type)
	}
}
