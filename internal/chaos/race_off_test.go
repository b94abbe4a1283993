//go:build !race

package chaos_test

const underRace = false
