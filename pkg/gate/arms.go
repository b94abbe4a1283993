package gate

import "github.com/evalfarm/evalfarm/pkg/eval"

// Arms are what a run is compared with. Any of them may be nil.
type Arms struct {
	// Base is the baseline. History pools it with earlier runs under the same
	// conditions, and is what suspects are confirmed against.
	Base, History *eval.Arm
	// Fresh holds the repeats that suspects were given to confirm or clear them: none
	// of them is among the trials of the run.
	Fresh *eval.Arm
}
