// Package compare says what changed between two arms: which of their cells can be
// compared at all, and then how much better or worse the head is than the base. It
// reads nothing but the arms, and has no formulas: those are in pkg/stats.
package compare
