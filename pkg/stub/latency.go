package stub

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Latency is a distribution of waiting times. The zero value is none.
type Latency struct {
	shape string
	a, b  float64 // seconds; b of lognormal is its sigma
}

// longestLatency bounds a sample, since the tails have no end.
const longestLatency = time.Hour

// ParseLatency reads a latency: "2s" is always the same, "uniform(1s,3s)" lies
// between the two, "exp(2s)" has that mean, and "lognormal(2s,0.5)" has that
// median and the standard deviation of its logarithm, which is what the answers
// of real models look like.
func ParseLatency(s string) (Latency, error) {
	shape, rest, shaped := strings.Cut(s, "(")
	if !shaped {
		shape, rest = "", s+")"
	}
	inner, ok := strings.CutSuffix(rest, ")")
	first, second, two := strings.Cut(inner, ",")
	l := Latency{shape: shape}
	a, err := time.ParseDuration(strings.TrimSpace(first))
	l.a = a.Seconds()
	switch shape {
	case "", "exp":
		ok = ok && err == nil && !two && shaped == (shape != "")
	case "uniform":
		b, err2 := time.ParseDuration(strings.TrimSpace(second))
		l.b = b.Seconds()
		ok = ok && err == nil && err2 == nil && l.b >= l.a
	case "lognormal":
		var err2 error
		l.b, err2 = strconv.ParseFloat(strings.TrimSpace(second), 64)
		ok = ok && err == nil && err2 == nil && l.b >= 0 && l.b <= 5
	default:
		ok = false
	}
	if !ok || l.a < 0 || l.a > longestLatency.Seconds() {
		return Latency{}, fmt.Errorf("want a latency of at most 1h such as 2s, uniform(1s,3s), exp(2s) or lognormal(2s,0.5), got %q", s)
	}
	return l, nil
}

// sample draws a waiting time.
func (l Latency) sample(r *rand.Rand) time.Duration {
	s := l.a
	switch l.shape {
	case "uniform":
		s = l.a + (l.b-l.a)*r.Float64()
	case "exp":
		s = l.a * r.ExpFloat64()
	case "lognormal":
		s = l.a * math.Exp(l.b*r.NormFloat64())
	}
	return time.Duration(min(s, longestLatency.Seconds()) * float64(time.Second))
}
