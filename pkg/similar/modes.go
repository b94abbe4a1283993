package similar

// modes decides the ways of comparing that know only yes and no, of n expected
// calls and m that were made: more than the table has, if they were too many.
func (c *Comparison) modes(t *table, n, m int) {
	matched := matching(t)
	c.Exact = n == m && n == len(t.want)
	for i := range min(len(t.want), len(t.got)) {
		c.Exact = c.Exact && t.fits(i, i)
	}
	c.InOrder = inOrder(t) && n == len(t.want)
	c.AnyOrder = n == m && matched == n
	c.Subset = matched == m
	c.Superset = matched == n
}

// inOrder finds the expected calls one after the other. To take the first call
// that fits is never worse than to wait for a later one.
func inOrder(t *table) bool {
	i := 0
	for j := range t.got {
		if i < len(t.want) && t.fits(i, j) {
			i++
		}
	}
	return i == len(t.want)
}

// matching is the largest number of expected calls that fit calls of their own:
// a maximum bipartite matching by augmenting paths. Taking the first call that
// fits would not do, since a call with more arguments may fit an expectation
// that others fit too, and leave nothing for the one that it alone fits.
func matching(t *table) int {
	s := search{table: t, owner: make([]int, len(t.got)), seen: make([]bool, len(t.got))}
	for j := range s.owner {
		s.owner[j] = -1
	}
	var matched int
	for i := range t.want {
		if s.place(i) {
			matched++
			// What a failed search has seen leads nowhere for good; only a
			// matching that has grown opens new ways.
			clear(s.seen)
		}
	}
	return matched
}

type search struct {
	*table
	owner []int // of each call made, the expected call that has it, or -1
	seen  []bool
}

// place finds a call for an expected call, and another one for its owner.
func (s *search) place(i int) bool {
	for j := range s.got {
		if s.owner[j] < 0 && s.fits(i, j) {
			s.owner[j] = i
			return true
		}
	}
	for j := range s.got {
		if s.seen[j] || !s.fits(i, j) {
			continue
		}
		s.seen[j] = true
		if s.place(s.owner[j]) {
			s.owner[j] = i
			return true
		}
	}
	return false
}
