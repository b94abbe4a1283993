package suite

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// secretRE matches a reference to a secret and nothing else.
var secretRE = regexp.MustCompile(`^\$\{\{ secrets\.[A-Za-z_][A-Za-z0-9_]* \}\}$`)

// KeyProblems wants a key, or each of a list of keys, to be a reference to a
// secret. The text of one that is not may be the key itself, so that [Hide] takes
// it out of all problems.
func KeyProblems(n *strictyaml.Node) []strictyaml.Problem {
	if n.Kind != strictyaml.List {
		if n.Bad || secretRE.MatchString(n.Text) {
			return nil
		}
		return []strictyaml.Problem{Secretive(n.Problem("an api_key is a reference to a secret, never the key itself",
			"write ${{ secrets.NAME }}: a worker finds the key in its environment"))}
	}
	if len(n.Items) == 0 {
		return []strictyaml.Problem{n.Problem("the list of keys is empty", "leave it out for the provider's usual one")}
	}
	var all []strictyaml.Problem
	seen := map[string]bool{}
	for _, item := range n.Items {
		found := KeyProblems(item)
		if len(found) == 0 && seen[item.Text] && !item.Bad {
			found = []strictyaml.Problem{item.Problem("the key is named twice", "two keys have two limits, and one has one")}
		}
		seen[item.Text] = true
		all = append(all, found...)
	}
	return all
}

// BaseURLProblems wants an address to put paths behind, without credentials.
func BaseURLProblems(n *strictyaml.Node) []strictyaml.Problem {
	var all []strictyaml.Problem
	u, err := url.Parse(n.Text)
	if err == nil && u.User != nil {
		return append(all, Secretive(n.Problem("credentials do not belong into an address", "a key is a reference to a secret: ${{ secrets.NAME }}")))
	}
	if message, hint := badURL(n.Text); message != "" {
		all = append(all, n.Problem(message, hint))
	}
	if err == nil && (u.RawQuery != "" || u.Fragment != "") {
		all = append(all, n.Problem("a base_url has no query and no fragment", "paths are put behind it"))
	}
	return all
}

// badURL says what is wrong with the address of a server, and what to do; or
// nothing.
func badURL(address string) (message, hint string) {
	if strings.Contains(address, "${{ secrets.") {
		return "", "" // known on the worker only
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Sprintf("%s is no address of a server", strictyaml.Quote(address)), "http:// or https://, a host and a path"
	}
	return "", ""
}

// notShown stands in the place of a line that nobody should see.
const notShown = "(not shown)"

// Secretive is a problem whose line nobody should see, since it holds a secret.
// [Hide] extends it to the others of that line.
func Secretive(p strictyaml.Problem) strictyaml.Problem { return secretive(p) }

func secretive(p strictyaml.Problem) strictyaml.Problem {
	p.Source, p.Column = notShown, 1
	return p
}

// Hide takes the lines of what should have been a secret out of all other
// problems too.
func Hide(all []strictyaml.Problem) {
	hidden := map[place]bool{}
	for _, p := range all {
		if p.Source == notShown {
			hidden[place{p.File, p.Line, 0}] = true
		}
	}
	for i, p := range all {
		if hidden[place{p.File, p.Line, 0}] {
			all[i] = Secretive(p)
		}
	}
}
