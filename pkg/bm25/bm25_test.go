package bm25_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/bm25"
)

func desk() []bm25.Doc {
	return []bm25.Doc{
		{Name: "get_order", Description: "Look one order up by its id.", Arguments: []string{"order_id"}},
		{Name: "findCustomer", Description: "Find customers in a region.", Arguments: []string{"region", "page"}},
		{Name: "issue_refund", Description: "Pay money back for an order.", Arguments: []string{"order_id", "amount"}},
		{Name: "escalate", Description: "Hand a case over to a person.", Arguments: []string{"reason"}},
		{Name: "HTTPFetch", Description: "Read a web page."},
		{Name: "list_policies", Description: "All policies of the desk."},
	}
}

func names(hits []bm25.Hit) []string {
	found := []string{}
	for _, h := range hits {
		found = append(found, h.Name)
	}
	return found
}

func TestSearch(t *testing.T) {
	tests := []struct {
		name  string
		query string
		n     int
		want  []string
	}{
		{"a name in snake case", "get_order", 9, []string{"get_order", "issue_refund"}},
		{"words of a name", "refund", 9, []string{"issue_refund"}},
		{"a name in camel case", "find customer", 9, []string{"findCustomer"}},
		{"a run of capitals", "fetch http", 9, []string{"HTTPFetch"}},
		{"capitals make no difference", "REFUND", 9, []string{"issue_refund"}},
		{"camel case in the query", "issueRefund", 9, []string{"issue_refund"}},
		{"a plural finds the singular", "regions", 9, []string{"findCustomer"}},
		{"a singular finds the plural", "policy", 9, []string{"list_policies"}},
		{"an argument", "amount", 9, []string{"issue_refund"}},
		{"a rare word weighs more", "order refund", 9, []string{"issue_refund", "get_order"}},
		{"as many as asked for", "order", 1, []string{"get_order"}},
		{"none asked for", "order", 0, []string{}},
		{"fewer than none", "order", -1, []string{}},
		{"no such word", "weather", 9, []string{}},
		{"no words", " ,.;", 9, []string{}},
		{"nothing", "", 9, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := names(bm25.New(desk()).Search(tt.query, tt.n))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestScore compares with the formula, worked out by hand: two documents of two
// and four words.
func TestScore(t *testing.T) {
	hits := bm25.New([]bm25.Doc{{Name: "a", Description: "x"}, {Name: "b", Description: "x x y"}}).Search("x", 2)
	weight := math.Log(1 + 0.5/2.5)
	want := []bm25.Hit{
		{Name: "b", Doc: 1, Score: weight * 2 * 2.2 / (2 + 1.2*(0.25+0.75*4/3))},
		{Name: "a", Doc: 0, Score: weight * 1 * 2.2 / (1 + 1.2*(0.25+0.75*2/3))},
	}
	for i, h := range hits {
		if h.Name != want[i].Name || h.Doc != want[i].Doc || math.Abs(h.Score-want[i].Score) > 1e-12 {
			t.Errorf("hit %d is %+v, want %+v", i, h, want[i])
		}
	}
}

func TestRepeatedWordsCountOnce(t *testing.T) {
	x := bm25.New(desk())
	if diff := cmp.Diff(x.Search("person order", 9), x.Search("person Orders order order", 9)); diff != "" {
		t.Errorf("-once +often:\n%s", diff)
	}
}

func TestTies(t *testing.T) {
	var docs []bm25.Doc
	for _, name := range []string{"c", "a", "b", "a"} {
		docs = append(docs, bm25.Doc{Name: name, Description: "same words"})
	}
	hits := bm25.New(docs).Search("words", 9)
	var got []string
	for _, h := range hits {
		got = append(got, fmt.Sprint(h.Name, h.Doc))
	}
	if want := []string{"a1", "a3", "b2", "c0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOrderOfDocumentsDoesNotMatter(t *testing.T) {
	docs := desk()
	want := bm25.New(docs).Search("order of a customer", 9)
	shuffle := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		shuffle.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		got := bm25.New(docs).Search("order of a customer", 9)
		for i := range got {
			if got[i].Name != want[i].Name || got[i].Score != want[i].Score {
				t.Fatalf("hit %d is %+v, want %+v", i, got[i], want[i])
			}
		}
	}
}

func TestNoDocuments(t *testing.T) {
	if hits := bm25.New(nil).Search("order", 5); len(hits) != 0 {
		t.Errorf("got %v from nothing", hits)
	}
	if hits := bm25.New([]bm25.Doc{{}, {}}).Search("order", 5); len(hits) != 0 {
		t.Errorf("got %v from empty documents", hits)
	}
}

func FuzzSearch(f *testing.F) {
	for _, d := range desk() {
		f.Add(d.Name, d.Description, "order")
	}
	f.Add("İIıi", "\xff\xfe", "ß")
	f.Add("s", "ies sses", "us")
	f.Fuzz(func(t *testing.T, name, description, query string) {
		x := bm25.New([]bm25.Doc{{Name: name, Description: description}, {Name: "other", Description: "order"}})
		hits := x.Search(query, 10)
		for i, h := range hits {
			if math.IsNaN(h.Score) || h.Score <= 0 || i > 0 && h.Score > hits[i-1].Score {
				t.Fatalf("hits %v", hits)
			}
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' }) && !slices.Contains(names(x.Search(name, 10)), name) {
			t.Errorf("%q does not find itself", name)
		}
	})
}

func many() []bm25.Doc {
	var docs []bm25.Doc
	for i := range 1000 {
		d := desk()[i%6]
		d.Name = fmt.Sprintf("%s_%d", d.Name, i)
		docs = append(docs, d)
	}
	return docs
}

func BenchmarkNew(b *testing.B) {
	docs := many()
	for b.Loop() {
		bm25.New(docs)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := bm25.New(many())
	for b.Loop() {
		x.Search("refund the order of a customer", 5)
	}
}
