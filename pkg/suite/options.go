package suite

import "github.com/evalfarm/evalfarm/pkg/eval"

// Options change how a suite is loaded. The zero value loads the file alone,
// with an empty environment.
type Options struct {
	// With is the path of a suite file without cases, whose servers, models,
	// axes, limits and defaults lie below those of the suite. Empty means none.
	With string
	// Gate is the path of a policy: a file with the keys of gate, which replaces that of
	// the suite. Empty means none.
	Gate string
	// Baseline is what rules compare with where the gate names nothing. Empty means that
	// it must.
	Baseline string
	// Servers replace what servers run, in order: VALUE for the default server,
	// NAME=VALUE for a named one. VALUE is a URL, or a command that is split
	// into words as a shell would split it, but never run by one.
	Servers []string
	// Dir is where the commands of Servers run. Empty means the folder of the
	// suite file.
	Dir string
	// Set replaces vars of the suite.
	Set map[string]string
	// LookupEnv gives the variables that ${{ env.NAME }} may refer to. Nil means
	// that none is set.
	LookupEnv func(name string) (string, bool)

	// Registered are the servers that a suite may name without describing them.
	Registered map[string]eval.Server

	// Rules and Profiles are the names of the catalog rules and of the client
	// profiles. Nil accepts any.
	Rules    []string
	Profiles []string

	// AnyRegistered accepts every name of a registered server, for a suite that is sent
	// to a farm: what is registered is known there.
	AnyRegistered bool
	// Grant, if it is not nil, is all that the suite may use: it comes from somebody
	// else.
	Grant *Grant
	// Projects are folders that no path of a file in them leaves, whatever is above
	// them, beside those with a .git or a go.mod.
	Projects []string

	// Base is a folder; problems name the files in it relative to it. Empty
	// means that they name files as Load was given them.
	Base string
	// lenient accepts that servers and environment variables are missing.
	lenient bool
}
