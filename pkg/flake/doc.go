// Package flake remembers what cells came to in the last runs of a suite, and says
// which of them are flaky, which have changed, and how sure that is.
//
// It works on what the store has of each run anyway, its snapshot and summary, so a
// memory costs two blobs a run however many trials there were. The summary has counts
// and no order of repeats: where that matters, the order is taken that speaks least
// for what is said.
package flake
