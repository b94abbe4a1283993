package similar

// A rule is what an inputSchema says of a value: whether it is exact, a number
// that may be close, or something that is compared by what it is. Nil is the
// last of these.
type rule struct {
	exact, relative bool
	members         map[string]*rule
	items           *rule
}

// ruleOf reads a JSON Schema: enum, const, integer, boolean and a string with a
// format are exact, a number may be close. Of alternatives with null, as for
// arguments that may be left out, the other one counts. References are not
// followed.
func ruleOf(schema any) *rule {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if choice := onlyChoice(s[word]); choice != nil {
			return ruleOf(choice)
		}
	}
	_, enum := s["enum"]
	_, constant := s["const"]
	_, format := s["format"]
	kind := typeOf(s["type"])
	switch {
	case enum || constant || kind == "integer" || kind == "boolean":
		return &rule{exact: true}
	case kind == "number": // its format is a width in bits
		return &rule{relative: true}
	case format:
		return &rule{exact: true}
	}
	r := &rule{items: ruleOf(s["items"])}
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		if member := ruleOf(property); member != nil {
			if r.members == nil {
				r.members = map[string]*rule{}
			}
			r.members[name] = member
		}
	}
	if r.items == nil && r.members == nil {
		return nil
	}
	return r
}

// onlyChoice returns the only alternative that is not null, or nil.
func onlyChoice(alternatives any) any {
	list, _ := alternatives.([]any)
	var only any
	for _, a := range list {
		if s, ok := a.(map[string]any); ok && s["type"] == "null" {
			continue
		}
		if only != nil {
			return nil
		}
		only = a
	}
	return only
}

// typeOf returns the type, or the only one of several that is not null.
func typeOf(types any) any {
	list, ok := types.([]any)
	if !ok {
		return types
	}
	var only any
	for _, t := range list {
		if t == "null" {
			continue
		}
		if only != nil {
			return nil
		}
		only = t
	}
	return only
}

// member and item return the rule of a part; a nil rule has none.
func (r *rule) member(name string) *rule {
	if r == nil {
		return nil
	}
	return r.members[name]
}

func (r *rule) item() *rule {
	if r == nil {
		return nil
	}
	return r.items
}
