//go:build race

package cli_test

// underRace says that the race detector is on. It looks for races, which the
// fiftieth run of a suite shows no better than the fifth.
const underRace = true
