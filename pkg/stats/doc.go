// Package stats holds the numbers that reports and gates rest on. Every
// function is closed form or exact, free of chance, and says what it means at
// the edges: with no data a point is NaN and an interval is as wide as can be,
// [0, 1] for a rate.
//
// The vectors in testdata were computed twice, by independent programs
// (statsmodels, SciPy, R, gonum), and are the specification.
package stats
