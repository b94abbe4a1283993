package cli_test

import "testing"

// BenchmarkRate runs trials on a scheduler and four workers at a provider that
// allows 600 calls a minute, and reports the part of them that was used and the part
// of all calls that was refused.
func BenchmarkRate(b *testing.B) {
	for _, bb := range []struct {
		name          string
		trials, slots int
		model         string
		silent        bool
	}{
		{"configured", 400, 2, ", rate: {requests_per_minute: 600}", false},
		{"told in headers", 1500, 8, "", false},
		{"never told", 1500, 8, "", true},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var ideal, refused float64
			for range b.N {
				got := rated(b, bb.trials, bb.slots, bb.model, bb.silent)
				ideal += used(got)
				refused += refusedShare(got)
			}
			b.ReportMetric(ideal/float64(b.N), "of-ideal-rate")
			b.ReportMetric(100*refused/float64(b.N), "%refused")
			b.ReportMetric(0, "ns/op")
		})
	}
}
