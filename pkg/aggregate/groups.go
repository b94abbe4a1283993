package aggregate

import (
	"cmp"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// groups puts the cells of each kind together: those of a case where it has several
// variants, those of a variant where the kind has several, and those with a tag.
func groups(cells []*cell, n numbers) []eval.GroupStats {
	type key struct {
		by   eval.GroupBy
		name string
		kind eval.Kind
	}
	of := map[key][]*cell{}
	variants := map[eval.Kind]map[string]bool{}
	for _, c := range cells {
		add := func(by eval.GroupBy, name string) {
			at := key{by, name, c.stats.Kind}
			of[at] = append(of[at], c)
		}
		add(eval.GroupByCase, c.stats.Case)
		add(eval.GroupByVariant, c.stats.Variant)
		for i, tag := range c.stats.Tags {
			if !slices.Contains(c.stats.Tags[:i], tag) {
				add(eval.GroupByTag, tag)
			}
		}
		if variants[c.stats.Kind] == nil {
			variants[c.stats.Kind] = map[string]bool{}
		}
		variants[c.stats.Kind][c.stats.Variant] = true
	}
	var keys []key
	for at, members := range of {
		alone := at.by == eval.GroupByCase && len(members) == 1 || at.by == eval.GroupByVariant && len(variants[at.kind]) == 1
		if !alone {
			keys = append(keys, at)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	var list []eval.GroupStats
	for _, at := range keys {
		list = append(list, eval.GroupStats{By: at.by, Name: at.name, Kind: at.kind, Cells: len(of[at]), Stats: n.of(of[at])})
	}
	return list
}
