// Package bm25 finds tools by words: an index over their names, descriptions and
// arguments, ranked by BM25 (S. Robertson and H. Zaragoza, The Probabilistic
// Relevance Framework: BM25 and Beyond, 2009).
//
// The same documents and the same query give the same hits in the same order,
// whatever the order in which the documents came.
package bm25

import (
	"cmp"
	"math"
	"slices"
)

// The usual parameters: how soon a repeated word stops to count, and how much a
// long document counts less.
const (
	k1 = 1.2
	b  = 0.75
)

// A Doc is one tool.
type Doc struct {
	Name        string
	Description string
	Arguments   []string
}

// A Hit is a document that has a word of the query.
type Hit struct {
	Name string
	// Doc is its place among the documents.
	Doc   int
	Score float64
}

// An Index is ready for searching, by several goroutines too.
type Index struct {
	docs []Doc
	// lengths of the documents, in words, and their mean.
	lengths []float64
	mean    float64
	// postings by word, each in the order of the documents.
	postings map[string][]posting
}

// A posting says how often a document has a word.
type posting struct {
	doc   int
	times float64
}

// New indexes documents.
func New(docs []Doc) *Index {
	x := &Index{docs: docs, lengths: make([]float64, len(docs)), postings: map[string][]posting{}}
	for i, doc := range docs {
		counts := map[string]int{}
		for _, text := range append([]string{doc.Name, doc.Description}, doc.Arguments...) {
			for _, word := range words(text) {
				counts[word]++
				x.lengths[i]++
			}
		}
		for word, n := range counts {
			x.postings[word] = append(x.postings[word], posting{i, float64(n)})
		}
		x.mean += x.lengths[i]
	}
	if len(docs) > 0 {
		x.mean /= float64(len(docs))
	}
	return x
}

// Search returns the n best documents that have a word of the query, best first;
// those that score alike by name, then by place.
func (x *Index) Search(query string, n int) []Hit {
	scores := map[int]float64{}
	asked := map[string]bool{}
	for _, word := range words(query) {
		if asked[word] {
			continue
		}
		asked[word] = true
		found := x.postings[word]
		weight := x.weight(len(found))
		for _, p := range found {
			scores[p.doc] += weight * p.times * (k1 + 1) / (p.times + k1*(1-b+b*x.lengths[p.doc]/x.mean))
		}
	}
	hits := make([]Hit, 0, len(scores))
	for doc, score := range scores {
		hits = append(hits, Hit{Name: x.docs[doc].Name, Doc: doc, Score: score})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Doc, b.Doc))
	})
	return hits[:max(0, min(n, len(hits)))]
}

// weight of a word that so many documents have. One is added inside the
// logarithm, so that a word that most of them have does not count against them.
func (x *Index) weight(docs int) float64 {
	n := float64(docs)
	return math.Log1p((float64(len(x.docs)) - n + 0.5) / (n + 0.5))
}
