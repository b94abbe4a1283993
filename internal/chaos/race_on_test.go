//go:build race

package chaos_test

// underRace says that the race detector is on, under which a farm takes its time.
const underRace = true
