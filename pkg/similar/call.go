package similar

import "github.com/evalfarm/evalfarm/pkg/eval"

// call is a Call whose arguments were decoded.
type call struct {
	tool string
	// arguments, or nil when they are no JSON object; value is what they are then.
	arguments map[string]any
	value     any
	names     []string // of the arguments, sorted
	// anyArguments marks an expected call that wants the tool alone.
	anyArguments bool
	// matchers holds the names of the expected arguments that have matchers.
	matchers map[string]bool
	// same is the index of the first call of its list that is byte for byte the
	// same: what is said of that one need not be found out again.
	same int
}

// prepare decodes calls. Pattern says that they are expectations somebody wrote.
func prepare(calls []Call, pattern bool) []call {
	type key struct{ tool, arguments string }
	first := map[key]int{}
	prepared := make([]call, len(calls))
	for i, given := range calls {
		k := key{given.Tool, string(given.Arguments)}
		if at, known := first[k]; known {
			prepared[i] = prepared[at]
			continue
		}
		first[k] = i
		prepared[i] = decode(given, pattern)
		prepared[i].same = i
	}
	return prepared
}

func decode(given Call, pattern bool) call {
	d := call{tool: given.Tool}
	value, err := eval.Decode(given.Arguments)
	object, isObject := value.(map[string]any)
	switch {
	case len(given.Arguments) == 0 || err == nil && value == nil:
		d.arguments = map[string]any{}
		d.anyArguments = pattern
	case err != nil:
		d.value = string(given.Arguments)
	case isObject:
		d.arguments = object
	default:
		d.value = value
	}
	d.names = names(d.arguments)
	if !pattern {
		return d
	}
	for name, argument := range object {
		if holdsMatchers(argument) {
			if d.matchers == nil {
				d.matchers = map[string]bool{}
			}
			d.matchers[name] = true
		}
	}
	return d
}

// raw returns the arguments as JSON, or nil when any will do.
func (c *call) raw() eval.JSON {
	switch {
	case c.anyArguments:
		return nil
	case c.arguments == nil:
		return eval.Encode(c.value)
	default:
		return eval.Encode(c.arguments)
	}
}
