package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// alike wants that in a JSONL report the trials of each case and repeat did and
// came to the same on so many points of an axis: "alike FILE AXIS POINTS". With
// ! it wants that those of no case did.
func alike(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] alike FILE AXIS POINTS")
	}
	did := map[string]map[string]string{} // by case and repeat, then by the axis
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var trial struct {
			Case, Verdict, Reason string
			Repeat                int
			Axes                  map[string]string
			TrajectoryHash        string `json:"trajectory_hash"`
		}
		ts.Check(json.Unmarshal([]byte(line), &trial))
		key := fmt.Sprintf("%s #%d", trial.Case, trial.Repeat)
		if did[key] == nil {
			did[key] = map[string]string{}
		}
		did[key][trial.Axes[args[1]]] = fmt.Sprint(trial.Verdict, " ", trial.Reason, " ", trial.TrajectoryHash)
	}
	if len(did) == 0 {
		ts.Fatalf("%s has no trials", args[0])
	}
	for key, points := range did {
		different := map[string]bool{}
		for _, what := range points {
			different[what] = true
		}
		if fmt.Sprint(len(points)) != args[2] {
			ts.Fatalf("%s ran on %d points of the axis %s, want %s", key, len(points), args[1], args[2])
		}
		if same := len(different) == 1; same == neg {
			ts.Fatalf("%s: %v", key, points)
		}
	}
}
