package stats

import (
	"math"
	"slices"
)

// A PPI is a mean that a judge's verdicts and some labels agree on.
type PPI struct {
	Interval
	// Lambda is the weight of the judge, from 0 (labels alone) to 1.
	Lambda float64
	// SE is the standard error of the mean.
	SE float64
}

// PPIMean estimates the mean of labels where only a random sample of the trials
// has them and a judge has rated all: prediction-powered inference with tuned
// power (PPI++, Angelopoulos, Duchi and Zrnic 2023). Labels and judged belong to
// the labelled trials, one by one; unlabelled is what the judge said of the
// others.
//
// θ = mean(labels) + λ(mean(unlabelled) - mean(judged)), with the λ of the least
// variance, Cov(labels, judged)/((1 + n/N) Var(all the judge's)) in [0, 1]. The
// interval is a normal one and not clipped. Unlike [RoganGladen] it does not ask
// that the judge errs at the same rate everywhere.
//
// With fewer than two labels, fewer than two unlabelled trials, or labels that
// the judge's verdicts do not belong to one by one, the mean is NaN and the
// interval boundless.
func PPIMean(labels, judged, unlabelled []float64, confidence float64) PPI {
	n, m := float64(len(labels)), float64(len(unlabelled))
	pooled := variance(append(slices.Clip(judged), unlabelled...))
	lambda := 0.0 // a judge that always says the same is worth nothing
	if pooled > 0 && len(judged) == len(labels) {
		lambda = unit(covariance(labels, judged) / ((1 + n/m) * pooled))
	}
	return PPIMeanWith(lambda, labels, judged, unlabelled, confidence)
}

// PPIMeanWith is [PPIMean] with a given λ: 0 is the mean of the labels, 1 is
// plain prediction-powered inference (Angelopoulos et al. 2023).
func PPIMeanWith(lambda float64, labels, judged, unlabelled []float64, confidence float64) PPI {
	if len(labels) < 2 || len(judged) != len(labels) || len(unlabelled) < 2 {
		nan := math.NaN()
		return PPI{Interval: Interval{Point: nan, Low: math.Inf(-1), High: math.Inf(1)}, Lambda: nan, SE: nan}
	}
	rest := make([]float64, len(labels))
	for i := range labels {
		rest[i] = labels[i] - lambda*judged[i]
	}
	theta := mean(rest) + lambda*mean(unlabelled)
	se := math.Sqrt(lambda*lambda*variance(unlabelled)/float64(len(unlabelled)) + variance(rest)/float64(len(rest)))
	return PPI{Interval: around(theta, se, confidence, math.Inf(-1), math.Inf(1)), Lambda: lambda, SE: se}
}
