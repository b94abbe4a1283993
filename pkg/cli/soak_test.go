//go:build soak

package cli_test

import "testing"

// The promise at its full size: 5,000 trials, killed three times.
func TestSoakKilledRun(t *testing.T) { testKilledRun(t, 100) }
