package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// Defaults of collect.
const (
	defaultPages    = 20
	defaultArgument = "cursor"
)

// collect follows the pages of a list and returns an answer whose value is all
// their items and whose text is that of all pages.
func (r *run) collect(ctx context.Context, s eval.Step, turn *eval.Turn) (answer.Answer, *failure) {
	all := answer.Answer{Outcome: eval.Outcome{Kind: eval.OutcomeOK}, Structured: true}
	items := []any{}
	cursors := map[string]bool{}
	pages := cmp.Or(s.Collect.Max, defaultPages)
	for page := 1; ; page++ {
		if page > pages {
			return all, failf(eval.ReasonPagesEndless, "want an end after at most %d pages, got a cursor for another one", pages)
		}
		a, failed := r.request(ctx, s, turn, false)
		if failed != nil || a.Rejected() {
			return a, failed
		}
		more, failed := itemsOf(s.Collect.Items, a.Value, page)
		if failed != nil {
			return a, failed
		}
		items = append(items, more...)
		if page > 1 {
			all.Text += "\n"
		}
		all.Text += a.Text
		cursor, ok, err := match.Get(a.Value, s.Collect.Next)
		if err != nil {
			return a, failf(eval.ReasonFarm, "collect: %v", err)
		}
		if !ok || cursor == nil || cursor == "" {
			break
		}
		key := string(eval.Encode(cursor))
		if cursors[key] {
			return a, failf(eval.ReasonPagesEndless, "page %d: want a new cursor, got %s again", page, match.Show(cursor))
		}
		cursors[key] = true
		s.Arguments = withCursor(s.Arguments, cmp.Or(s.Collect.Argument, defaultArgument), cursor)
	}
	all.Value, all.BlocksValue = items, items
	if failed := unique(s.Collect.Unique, items); failed != nil {
		return all, failed
	}
	return all, r.sameAs(s.Collect.SameAs, items)
}

// itemsOf finds the items of a page.
func itemsOf(path string, value any, page int) ([]any, *failure) {
	found, ok, err := match.Get(value, path)
	if err != nil {
		return nil, failf(eval.ReasonFarm, "collect: %v", err)
	}
	items, isArray := found.([]any)
	if !ok || !isArray {
		return nil, failf(eval.ReasonMismatch, "page %d: want an array at %s, got %s", page, path, match.Show(value)).showing(map[string]any{path: []any{}}, value)
	}
	return items, nil
}

// withCursor adds the cursor to a call's arguments, with its type kept.
func withCursor(raw eval.JSON, name string, cursor any) eval.JSON {
	arguments := map[string]any{}
	if len(raw) > 0 {
		maps.Copy(arguments, operand(raw).(map[string]any)) // fill has made sure of it
	}
	arguments[name] = cursor
	return eval.Encode(arguments)
}

// unique wants a different value at the path in every item.
func unique(path string, items []any) *failure {
	if path == "" {
		return nil
	}
	first := map[string]int{}
	for i, item := range items {
		value, ok, err := match.Get(item, path)
		switch {
		case err != nil:
			return failf(eval.ReasonFarm, "collect: %v", err)
		case !ok:
			return failf(eval.ReasonNotUnique, "item %d: want a value at %s, got %s", i+1, path, match.Show(item))
		}
		key := string(eval.Encode(value))
		if earlier, seen := first[key]; seen {
			return failf(eval.ReasonNotUnique, "item %d: want a new value at %s, got %s, which item %d has", i+1, path, match.Show(value), earlier+1).showing(items[earlier], item)
		}
		first[key] = i
	}
	return nil
}

// sameAs wants the items to be those of a variable's list, in its order.
func (r *run) sameAs(name string, items []any) *failure {
	if name == "" {
		return nil
	}
	raw, _ := r.find(name) // fill has made sure of it
	v, err := eval.Decode(raw)
	list, ok := v.([]any)
	if err != nil || !ok {
		return failf(eval.ReasonNotSame, "want the list {{%s}}, which is %s and no list", name, match.Show(v))
	}
	var problem string
	switch i := firstUnequal(list, items); {
	case i < len(list) && i < len(items):
		problem = fmt.Sprintf("item %d: want %s, got %s", i+1, match.Show(list[i]), match.Show(items[i]))
	case len(list) != len(items):
		problem = fmt.Sprintf("want %d items, got %d", len(list), len(items))
	default:
		return nil
	}
	return failf(eval.ReasonNotSame, "not the list {{%s}}: %s", name, problem).showing(list, items)
}

// firstUnequal is the first place at which two lists differ, or the end of the
// shorter.
func firstUnequal(a, b []any) int {
	i := 0
	for i < len(a) && i < len(b) && match.Equal(a[i], b[i]) {
		i++
	}
	return i
}
