package eval

// A Difference is a condition that is not the same in base and head.
type Difference struct {
	Condition string `json:"condition"`
	// Base and Head are its values; empty where it is not known.
	Base string `json:"base"`
	Head string `json:"head"`
	// Cells in which it is so, 0 for what is true of the whole run.
	Cells int `json:"cells,omitempty"`
	// Excludes is true if those cells are not compared.
	Excludes bool `json:"excludes,omitempty"`
}

// An Excluded cell is in both arms and cannot be compared.
type Excluded struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	Kind    Kind   `json:"kind"`
	Why     string `json:"why"`
}

// FarmConditions are those that the farm knows by itself. Others are the operator's own.
func FarmConditions() []string {
	return []string{
		ConditionCase, ConditionChecks, ConditionJudge, ConditionModel, ConditionSampling, ConditionServer, ConditionRevision,
		ConditionListing, ConditionPrices, ConditionCommit, ConditionVersion,
	}
}

// Conditions of whole runs, which are told and exclude nothing.
const (
	ConditionCommit  = "commit"   // of the suite's repository
	ConditionVersion = "evalfarm" // version of evalfarm
)
