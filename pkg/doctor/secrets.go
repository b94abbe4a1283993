package doctor

import (
	"maps"
	"regexp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// secretRE finds references to secrets as the loaders leave them.
var secretRE = regexp.MustCompile(`\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// resolved is a server with its secrets, and these by their names. The error names
// one that is missing.
func (o Options) resolved(s eval.Server) (eval.Server, map[string]string, error) {
	found := map[string]string{}
	var missing error
	resolve := func(text string) string {
		return secretRE.ReplaceAllStringFunc(text, func(ref string) string {
			name := secretRE.FindStringSubmatch(ref)[1]
			value, err := o.Secret(name)
			if err != nil {
				missing = err
				return ref
			}
			found[name] = value
			return value
		})
	}
	s.URL = resolve(s.URL)
	s.Command = append([]string(nil), s.Command...)
	for i, word := range s.Command {
		s.Command[i] = resolve(word)
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for k, v := range m {
			m[k] = resolve(v)
		}
	}
	return s, found, missing
}
