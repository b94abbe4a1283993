//go:build !race

package redislimit_test

// raceEnabled says whether the race detector is on, under which Lua written in Go
// crawls.
const raceEnabled = false
