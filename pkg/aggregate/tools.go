package aggregate

import (
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// tools gathers the calls of every tool.
type tools map[string]*tool

type tool struct {
	errors  int
	latency sample
}

func (t tools) add(uses []eval.ToolUse) {
	for _, use := range uses {
		one := t[use.Tool]
		if one == nil {
			one = &tool{}
			t[use.Tool] = one
		}
		one.latency.add(use.LatencyMS)
		if use.Error {
			one.errors++
		}
	}
}

// finish gives the tools by name, and the latency of all calls.
func (t tools) finish(r ranks) ([]eval.ToolStats, eval.Percentiles) {
	var all []*sample
	list := []eval.ToolStats{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		one := t[name]
		all = append(all, &one.latency)
		list = append(list, eval.ToolStats{
			Tool:    name,
			Calls:   one.latency.n,
			Errors:  one.errors,
			Latency: one.latency.percentiles(r),
		})
	}
	return list, merged(all).percentiles(r)
}
