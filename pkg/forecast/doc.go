// Package forecast says what a run will take before it begins: calls, tokens, money
// and time, how far a budget reaches, and what difference the repeats can show.
//
// A number rests on what trials of the same cells took before, or else on what the
// limits of a trial allow; where there is neither it is unknown, and an unknown
// number is never zero. [Make] is arithmetic over a frozen plan and the rows of its
// history, which [Read] takes from a store.
//
// How a number of a whole run is worked out: each cell has the mean m and the
// variance v of its n trials in history. Trials are taken to be independent, so r
// repeats have the mean r·m and the variance r·v + r²·v/n, of which the second part
// is that m is only known from n trials. The sum over all cells is taken to be
// normal: P50 is its mean and P95 is 1.645 standard deviations above. A cell with a
// single trial in history spreads, relative to its mean, as the other cells do; if
// there are none, as much as its mean. A cell without history counts with its limit,
// as if nothing could vary. No cell, and no sum where all trials have limits,
// exceeds its limits.
//
// What attempts take that do not count, because the farm or a dependency failed,
// nobody foresees: it is in none of the numbers.
package forecast
