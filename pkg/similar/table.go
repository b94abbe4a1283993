package similar

// table holds what was found out about every expected call and every call made.
type table struct {
	want, got []call
	grades    []float64 // row by row, a row for each expected call
	fit       []bool
}

func (c *comparer) table(want, got []call) *table {
	size := len(want) * len(got)
	t := &table{want: want, got: got, grades: make([]float64, size), fit: make([]bool, size)}
	for i := range want {
		for j := range got {
			at := t.at(i, j)
			if known := t.at(want[i].same, got[j].same); known < at {
				t.grades[at], t.fit[at] = t.grades[known], t.fit[known]
				continue
			}
			t.grades[at], t.fit[at] = c.grade(&want[i], &got[j]), c.fits(&want[i], &got[j])
		}
	}
	return t
}

func (t *table) at(i, j int) int        { return i*len(t.got) + j }
func (t *table) grade(i, j int) float64 { return t.grades[t.at(i, j)] }
func (t *table) fits(i, j int) bool     { return t.fit[t.at(i, j)] }
