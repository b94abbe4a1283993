package cli

// useColor decides whether output is coloured. The first that has an opinion
// wins: the value of --color when it is always or never, NO_COLOR, FORCE_COLOR or
// CLICOLOR_FORCE, TERM=dumb, and at last whether the output is a terminal. The
// logs of GitHub Actions are no terminal and show colours all the same.
//
// See https://no-color.org: NO_COLOR counts when it is set to anything but the
// empty string, even to 0. The two that force count unless they say no.
func useColor(flag string, tty bool, lookup func(string) (string, bool)) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	if v, _ := lookup("NO_COLOR"); v != "" {
		return false
	}
	if switchedOn(lookup, "FORCE_COLOR") || switchedOn(lookup, "CLICOLOR_FORCE") {
		return true
	}
	if term, _ := lookup("TERM"); term == "dumb" {
		return false
	}
	return tty || switchedOn(lookup, "GITHUB_ACTIONS")
}

// switchedOn says whether an environment variable is set to something other
// than no.
func switchedOn(lookup func(string) (string, bool), name string) bool {
	switch v, _ := lookup(name); v {
	case "", "0", "false", "no":
		return false
	default:
		return true
	}
}
