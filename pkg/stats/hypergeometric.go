package stats

// A hypergeometric is the distribution of how many marked ones there are among
// some that are drawn, none being put back.
type hypergeometric struct {
	// low is the least number of marked ones that can be drawn; chances has the
	// chance of it and of those that follow.
	low     int
	chances []float64
}

// draw begins at the likeliest number with a weight of 1, walks outwards by the
// ratio of neighbours, and divides by the sum: there are no factorials, so
// nothing overflows.
func draw(all, marked, drawn int) hypergeometric {
	low, high := max(0, drawn-(all-marked)), min(drawn, marked)
	h := hypergeometric{low: low, chances: make([]float64, high-low+1)}
	mode := min(max((drawn+1)*(marked+1)/(all+2), low), high)
	// up is the chance of j+1 over that of j.
	up := func(j int) float64 {
		return float64(marked-j) * float64(drawn-j) / (float64(j+1) * float64(all-marked-drawn+j+1))
	}
	h.chances[mode-low] = 1
	for j := mode; j < high; j++ {
		h.chances[j+1-low] = h.chances[j-low] * up(j)
	}
	for j := mode - 1; j >= low; j-- {
		h.chances[j-low] = h.chances[j+1-low] / up(j)
	}
	weight := total(h.chances)
	for i := range h.chances {
		h.chances[i] /= weight
	}
	return h
}

// at is the chance of exactly j marked ones.
func (h hypergeometric) at(j int) float64 {
	if j < h.low || j >= h.low+len(h.chances) {
		return 0
	}
	return h.chances[j-h.low]
}

// atLeast is the chance of j marked ones or more: 1 exactly where it must be.
func (h hypergeometric) atLeast(j int) float64 {
	switch {
	case j <= h.low:
		return 1
	case j >= h.low+len(h.chances):
		return 0
	default:
		return min(1, total(h.chances[j-h.low:]))
	}
}

// atMost is the chance of j marked ones or fewer.
func (h hypergeometric) atMost(j int) float64 {
	switch {
	case j < h.low:
		return 0
	case j >= h.low+len(h.chances)-1:
		return 1
	default:
		return min(1, total(h.chances[:j+1-h.low]))
	}
}
