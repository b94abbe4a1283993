package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A hit is a tool that a query found.
type hit struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Server      string  `json:"server"`
	Score       float64 `json:"score"`
}

// retrieveTools finds tools by the share of the query's words that their names
// and descriptions hold, an s at the end of a word left out.
func (p *proxy) retrieveTools(arguments object) reply {
	query := text(arguments, "query")
	words := strings.Fields(strings.ToLower(query))
	hits := []hit{}
	for _, t := range p.data.Tools {
		about := strings.ToLower(t.Name + " " + t.Description)
		fit := 0
		for _, word := range words {
			if strings.Contains(about, strings.TrimSuffix(word, "s")) {
				fit++
			}
		}
		if fit > 0 {
			hits = append(hits, hit{t.Server + ":" + t.Name, t.Description, t.Server, float64(fit) / float64(len(words))})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.Score, a.Score) })
	shown := hits[:min(len(hits), number(arguments, "limit", 10))]
	return reply{object: object{"query": query, "total": len(hits), "tools": shown}}
}

// readCache gives records of an answer that was too long.
func (p *proxy) readCache(arguments object) reply {
	key := text(arguments, "key")
	total, ok := p.data.Cache[key]
	if !ok {
		return refuse("key", "does not exist")
	}
	first := min(number(arguments, "offset", 0), total)
	records := []object{}
	for i := first; i < min(total, first+number(arguments, "limit", 50)); i++ {
		records = append(records, object{"id": i, "title": fmt.Sprintf("Record %d", i)})
	}
	return reply{object: object{"key": key, "offset": first, "total": total, "records": records}}
}
