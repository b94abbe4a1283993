package cli

import "testing"

func TestUseColor(t *testing.T) {
	type env = map[string]string
	for _, test := range []struct {
		name string
		flag string
		tty  bool
		env  env
		want bool
	}{
		{name: "a terminal", tty: true, want: true},
		{name: "no terminal", want: false},
		{name: "auto is the default", flag: "auto", tty: true, want: true},
		{name: "always beats no terminal", flag: "always", want: true},
		{name: "always beats NO_COLOR", flag: "always", env: env{"NO_COLOR": "1"}, want: true},
		{name: "never beats a terminal", flag: "never", tty: true, want: false},
		{name: "never beats FORCE_COLOR", flag: "never", tty: true, env: env{"FORCE_COLOR": "1"}, want: false},
		{name: "NO_COLOR beats a terminal", tty: true, env: env{"NO_COLOR": "1"}, want: false},
		{name: "NO_COLOR counts whatever it says", tty: true, env: env{"NO_COLOR": "0"}, want: false},
		{name: "an empty NO_COLOR does not count", tty: true, env: env{"NO_COLOR": ""}, want: true},
		{name: "NO_COLOR beats FORCE_COLOR", env: env{"NO_COLOR": "1", "FORCE_COLOR": "1"}, want: false},
		{name: "FORCE_COLOR beats no terminal", env: env{"FORCE_COLOR": "1"}, want: true},
		{name: "FORCE_COLOR beats TERM=dumb", tty: true, env: env{"FORCE_COLOR": "1", "TERM": "dumb"}, want: true},
		{name: "FORCE_COLOR=0 forces nothing", env: env{"FORCE_COLOR": "0"}, want: false},
		{name: "CLICOLOR_FORCE beats no terminal", env: env{"CLICOLOR_FORCE": "1"}, want: true},
		{name: "CLICOLOR_FORCE=0 forces nothing", env: env{"CLICOLOR_FORCE": "0"}, want: false},
		{name: "TERM=dumb beats a terminal", tty: true, env: env{"TERM": "dumb"}, want: false},
		{name: "TERM=dumb beats GitHub", env: env{"TERM": "dumb", "GITHUB_ACTIONS": "true"}, want: false},
		{name: "GitHub's logs have colours", env: env{"GITHUB_ACTIONS": "true"}, want: true},
		{name: "NO_COLOR beats GitHub", env: env{"NO_COLOR": "1", "GITHUB_ACTIONS": "true"}, want: false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := useColor(test.flag, test.tty, lookupIn(test.env)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// lookupIn reads an environment from a map.
func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}
