//go:build soak

package stats

import "testing"

func TestSoakGateErrors(t *testing.T) { gateErrors(t, 20*simulated) }

func TestSoakSequentialErrors(t *testing.T) { sequentialErrors(t, 10*simulated) }
