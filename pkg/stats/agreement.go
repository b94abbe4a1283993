package stats

import "math"

// An Agreement says how far two raters agree: a judge and a human, or two
// judges. Look at all of it: where nearly everything passes, kappa is near 0
// for raters who hardly ever disagree, and AC1 is not.
type Agreement struct {
	// Raw is the share of items that both put into the same category, in [0, 1],
	// with the interval of Wilson (1927).
	Raw Interval
	// Kappa of Cohen (1960) and AC1 of Gwet (2008), in [-1, 1]: agreement beyond
	// chance, 0 at chance.
	Kappa, AC1 Interval
}

// Agree measures the agreement of two raters from a square table: row and
// column are the categories that the first and the second rater chose, and a
// cell is the number of items.
//
// With po the share on the diagonal and pe the agreement expected by chance,
// kappa and AC1 are (po-pe)/(1-pe). Chance is Σ p_i.·p_.i for kappa and
// Σ π_i(1-π_i)/(q-1) for AC1, where π_i is the mean of the two raters' shares of
// category i and q the number of categories, unused ones included.
//
// The intervals are normal ones with the large-sample standard errors of Fleiss,
// Cohen and Everitt (1969) for kappa and of Gwet (2008) for AC1, the items being
// a sample of infinitely many, clipped to [-1, 1]. Where all items agree or none
// does, those errors are 0 and would claim certainty: there the bounds of Raw,
// with pe as it is, take their place.
//
// Kappa is NaN when chance agreement is 1, which is when both raters used one
// category only. With no items all points are NaN and the intervals are as wide
// as can be.
func Agree(table [][]int, confidence float64) Agreement {
	var agreed, n int
	for i, row := range table {
		for j, count := range row {
			n += count
			if i == j {
				agreed += count
			}
		}
	}
	a := Agreement{Raw: Wilson(agreed, n, confidence)}
	s := sharesOf(table, n)
	a.Kappa = beyondChance(a.Raw, s.kappaChance(), s.kappaError, confidence)
	a.AC1 = beyondChance(a.Raw, s.ac1Chance(), s.ac1Error, confidence)
	return a
}

// beyondChance corrects agreement for chance.
func beyondChance(raw Interval, chance float64, standardError func(po, pe float64) float64, confidence float64) Interval {
	correct := func(po float64) float64 { return max(-1, (po-chance)/(1-chance)) }
	if math.IsNaN(raw.Point) || math.IsNaN(chance) || 1-chance < 1e-15 {
		return Interval{Point: math.NaN(), Low: -1, High: 1}
	}
	if raw.Point == 0 || raw.Point == 1 {
		return Interval{Point: correct(raw.Point), Low: correct(raw.Low), High: correct(raw.High)}
	}
	return around(correct(raw.Point), standardError(raw.Point, chance), confidence, -1, 1)
}

// shares is a table of two raters as shares of all items.
type shares struct {
	n             float64
	cells         [][]float64
	rows, columns []float64
}

func sharesOf(table [][]int, n int) shares {
	s := shares{n: float64(n), rows: make([]float64, len(table)), columns: make([]float64, len(table))}
	for i, row := range table {
		cells := make([]float64, len(row))
		for j, count := range row {
			cells[j] = float64(count) / s.n
			s.rows[i] += cells[j]
			s.columns[j] += cells[j]
		}
		s.cells = append(s.cells, cells)
	}
	return s
}

func (s shares) kappaChance() float64 {
	var pe float64
	for i := range s.rows {
		pe += s.rows[i] * s.columns[i]
	}
	return pe
}

// kappaError is formula (13) of Fleiss, Cohen and Everitt.
func (s shares) kappaError(po, pe float64) float64 {
	var sum float64
	for i, row := range s.cells {
		for j, p := range row {
			if i == j {
				d := (1 - pe) - (s.rows[i]+s.columns[i])*(1-po)
				sum += p * d * d
			} else {
				d := (1 - po) * (s.columns[i] + s.rows[j])
				sum += p * d * d
			}
		}
	}
	d := po*pe - 2*pe + po
	return math.Sqrt(max(0, sum-d*d)/s.n) / ((1 - pe) * (1 - pe))
}

// prevalence is the mean of the two raters' shares of a category.
func (s shares) prevalence(i int) float64 { return (s.rows[i] + s.columns[i]) / 2 }

func (s shares) ac1Chance() float64 {
	var sum float64
	for i := range s.rows {
		sum += s.prevalence(i) * (1 - s.prevalence(i))
	}
	return sum / float64(len(s.rows)-1)
}

// ac1Error is the variance of AC1 for two raters in Gwet's section 5.
func (s shares) ac1Error(po, pe float64) float64 {
	q := float64(len(s.rows))
	ac1 := (po - pe) / (1 - pe)
	var diagonal, all float64
	for i, row := range s.cells {
		diagonal += row[i] * (1 - s.prevalence(i))
		for j, p := range row {
			d := 1 - (s.prevalence(i)+s.prevalence(j))/2
			all += p * d * d
		}
	}
	v := po*(1-po) -
		4*(1-ac1)*(diagonal/(q-1)-po*pe) +
		4*(1-ac1)*(1-ac1)*(all/((q-1)*(q-1))-pe*pe)
	return math.Sqrt(max(0, v)/s.n) / (1 - pe)
}
