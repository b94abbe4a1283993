package httpapi

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// Many problems of one long line are told in little.
func TestProblemsAreBounded(t *testing.T) {
	e, line := &suite.ProblemsError{}, strings.Repeat("x", 600_000)
	for range 20_000 {
		e.Problems = append(e.Problems, strictyaml.Problem{File: "suite/s.yaml", Line: 1, Column: 1, Message: "bad", Source: line})
	}
	if n := len(eval.Encode(problemOf(e))); n > 1<<20 {
		t.Errorf("the answer has %d bytes", n)
	}
	if p := problemOf(e).Problems; p[len(p)-1].Message != "and 19000 more" {
		t.Errorf("the last one says %q", p[len(p)-1].Message)
	}
}
