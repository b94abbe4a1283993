//go:build soak

package scheduler_test

import (
	"math/rand/v2"
	"testing"
)

// The promise of budgets with ten times as many trials.
func TestSoakCaps(t *testing.T) { testCaps(t, 10, rand.Uint64()) }
