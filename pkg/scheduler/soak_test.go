//go:build soak

package scheduler_test

import "testing"

// The promise of budgets with ten times as many trials.
func TestSoakCaps(t *testing.T) { testCaps(t, 10) }
