package eval

// An Agreement is how far the judge of a suite agrees with people, by the reviews of a
// run.
type Agreement struct {
	// Run that was reviewed.
	Run string `json:"run"`
	// N is how many checks of its trials both have decided.
	N int `json:"n"`
	// AC1 is Gwet's, from -1 to 1, with its interval of 95 %.
	AC1 Estimate `json:"gwet_ac1"`
}

// Judging says how each case is judged that has a judge: by which models, and by which
// checks. What was said of two cases can be put together where it is the same.
func (s Snapshot) Judging() map[string]string {
	judging := map[string]string{}
	for _, of := range s.Cases {
		c := s.conditions(of, Variant{})
		if c[ConditionJudge] != "" && c[ConditionChecks] != "" {
			judging[of.ID] = c[ConditionJudge] + "\n" + c[ConditionChecks]
		}
	}
	return judging
}
