package match_test

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

func ExamplePartial() {
	expected, _ := eval.Decode([]byte(`{"status": "ACTIVE", "items": [{"id": {"$regex": "^I-"}}], "total": {"$gte": 10}}`))
	actual, _ := eval.Decode([]byte(`{"status": "SUSPENDED", "items": [{"id": "I-1", "new": true}], "total": 9.5}`))
	for _, difference := range match.Partial(expected, actual) {
		fmt.Println(difference)
	}
	// Output:
	// status: want "ACTIVE", got "SUSPENDED"
	// total: want a number ≥ 10, got 9.5
}
