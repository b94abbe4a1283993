package report

import (
	"io"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A Document is what a report is made from.
type Document struct {
	Summary  eval.Summary
	Snapshot eval.Snapshot
	// Each calls fn with every standing result by ordinal. Formats with a line
	// for every trial need it.
	Each func(fn func(store.Row) error) error
}

// A Format writes a document as a file.
type Format func(w io.Writer, d Document) error

// Formats are the files that a run can be reported as, by the name that people
// ask for.
func Formats() map[string]Format {
	return map[string]Format{
		"json":  func(w io.Writer, d Document) error { return JSON(w, d.Summary) },
		"jsonl": JSONL,
		"junit": func(w io.Writer, d Document) error { return JUnit(w, d.Summary) },
	}
}
