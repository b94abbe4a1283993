package stub

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	for name, tt := range map[string]struct {
		text      string
		low, high time.Duration // of all samples
		p50, p90  time.Duration
	}{
		"none":      {"0s", 0, 0, 0, 0},
		"constant":  {"2s", 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second},
		"uniform":   {"uniform(1s, 3s)", time.Second, 3 * time.Second, 2 * time.Second, 2800 * time.Millisecond},
		"exp":       {"exp(2s)", 0, longestLatency, 1386 * time.Millisecond, 4605 * time.Millisecond},
		"lognormal": {"lognormal(2s,0.5)", 0, longestLatency, 2 * time.Second, 3796 * time.Millisecond},
		"bounded":   {"exp(1h)", 0, longestLatency, 2495 * time.Second, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ParseLatency(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Duration
			for n := range uint64(20_000) {
				got = append(got, l.sample(rand.New(rand.NewPCG(1, n))))
			}
			slices.Sort(got)
			if got[0] < tt.low || got[len(got)-1] > tt.high {
				t.Errorf("samples from %v to %v, want them from %v to %v", got[0], got[len(got)-1], tt.low, tt.high)
			}
			for share, want := range map[int]time.Duration{50: tt.p50, 90: tt.p90} {
				if p := got[len(got)*share/100]; p < want*94/100 || p > want*106/100 {
					t.Errorf("p%d: got %v, want about %v", share, p, want)
				}
			}
		})
	}
}

func TestLatencyRefused(t *testing.T) {
	for _, text := range []string{
		"", "2", "s", "-1s", "2h", "uniform", "uniform()", "uniform(1s)", "uniform(3s,1s)", "uniform(1s,3s", "exp(1s,2s)",
		"exp(x)", "lognormal(2s)", "lognormal(2s,x)", "lognormal(2s,-1)", "lognormal(2s,9)", "lognormal(2s,NaN)", "gauss(1s,2s)", "(2s)", "2s)",
	} {
		if l, err := ParseLatency(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, l)
		}
	}
}

func FuzzParseLatency(f *testing.F) {
	for _, text := range []string{"2s", "uniform(1s,3s)", "exp(2s)", "lognormal(2s,0.5)", "lognormal(1h,5)"} {
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		l, err := ParseLatency(text)
		if err != nil {
			return
		}
		if d := l.sample(rand.New(rand.NewPCG(seed, 1))); d < 0 || d > longestLatency {
			t.Errorf("%q: got a sample of %v", text, d)
		}
	})
}
