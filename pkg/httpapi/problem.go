package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A Problem is what went wrong with a request, as RFC 9457 has it.
type Problem struct { //nolint:errname // the word of the RFC
	// Type tells kinds of problems apart; empty is "about:blank".
	Type   string `json:"type,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Hint says what to do about it.
	Hint string `json:"hint,omitempty"`
	// Problems of a suite, each with its place.
	Problems []Place `json:"problems,omitempty"`
	// Reasons why a budget cannot be kept.
	Reasons []string `json:"reasons,omitempty"`
	// Missing lists the sha256 of files that were not sent yet.
	Missing []string `json:"missing,omitempty"`
	// Key and Run of an idempotency key that was used for something else.
	Key string `json:"key,omitempty"`
	Run string `json:"run,omitempty"`
}

// Kinds of problems.
const (
	problemSuite   = "urn:evalfarm:problem:suite"
	problemEmpty   = "urn:evalfarm:problem:empty"
	problemBudget  = "urn:evalfarm:problem:budget"
	problemKey     = "urn:evalfarm:problem:key"
	problemMissing = "urn:evalfarm:problem:missing-files"
	problemRefused = "urn:evalfarm:problem:refused"
)

// A Place is one thing that is wrong with a suite.
type Place struct {
	// File begins with suite/ or with/, as the order's files are told apart.
	File string `json:"file"`
	// Line and Column count from 1; 0 means the file as a whole.
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning,omitempty"`
	// Source is the text of the line.
	Source string `json:"source,omitempty"`
}

// A missingError says which files of an order are not there.
type missingError struct{ files []string }

func (e *missingError) Error() string { return "some files of the suite were not sent yet" }

// A DeniedError says that the farm does not take the token, or not for this.
type DeniedError struct{ Detail string }

func (e *DeniedError) Error() string { return e.Detail }

// A toldError is an error that the other side has told.
type toldError struct {
	detail string
	is     error
}

func (e *toldError) Error() string { return e.detail }
func (e *toldError) Unwrap() error { return e.is }

// Bounds of what is told of a suite: each of many problems of one long line has the
// whole of it.
const (
	maxTold   = 1000 // problems
	maxSource = 2000 // bytes of a line
)

// told are the problems of a suite as they are told.
func told(all []strictyaml.Problem) []Place {
	var out []Place
	for i, one := range all {
		if i == maxTold {
			one = strictyaml.Problem{File: one.File, Message: fmt.Sprintf("and %d more", len(all)-i)}
		}
		if len(one.Source) > maxSource {
			one.Source = "" // a part of it would stand at another column
		}
		out = append(out, Place(one))
		if i == maxTold {
			break
		}
	}
	return out
}

// problemOf is how an error is told.
func problemOf(err error) Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return *p
	}
	if e, ok := errors.AsType[*suite.ProblemsError](err); ok {
		p := Problem{Type: problemSuite, Status: http.StatusUnprocessableEntity, Detail: "the suite cannot be run"}
		p.Problems = told(e.Problems)
		return p
	}
	if e, ok := errors.AsType[*scheduler.RefusedError](err); ok {
		return Problem{Type: problemRefused, Status: http.StatusConflict, Detail: e.Message, Hint: e.Hint}
	}
	if e, ok := errors.AsType[*scheduler.BudgetError](err); ok {
		return Problem{Type: problemBudget, Status: http.StatusUnprocessableEntity, Detail: e.Error(), Reasons: e.Problems}
	}
	if e, ok := errors.AsType[*scheduler.KeyError](err); ok {
		return Problem{Type: problemKey, Status: http.StatusUnprocessableEntity, Detail: e.Error(), Key: e.Key, Run: e.Run}
	}
	if e, ok := errors.AsType[*missingError](err); ok {
		return Problem{Type: problemMissing, Status: http.StatusConflict, Detail: e.Error(), Hint: "PUT each of them to /api/v1/blobs/{sha256}, and ask again", Missing: e.files}
	}
	switch {
	case errors.Is(err, scheduler.ErrEmpty):
		return Problem{Type: problemEmpty, Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	case errors.Is(err, store.ErrNotFound):
		return Problem{Status: http.StatusNotFound, Detail: "the farm has no such run"}
	}
	return Problem{Status: http.StatusInternalServerError, Detail: "the farm could not do this; its log says why"}
}

// Error makes a problem one that handlers can return.
func (p *Problem) Error() string { return p.Detail }

// err is the error that a problem tells of.
func (p *Problem) err() error {
	switch p.Type {
	case problemSuite:
		e := &suite.ProblemsError{}
		for _, one := range p.Problems {
			one.Message, one.Hint = report.Line(one.Message, maxSource), report.Line(one.Hint, maxSource) // as strictyaml promises
			e.Problems = append(e.Problems, strictyaml.Problem(one))
		}
		return e
	case problemRefused:
		return &scheduler.RefusedError{Message: p.Detail, Hint: p.Hint}
	case problemBudget:
		return &scheduler.BudgetError{Problems: p.Reasons}
	case problemKey:
		return &scheduler.KeyError{Key: p.Key, Run: p.Run}
	case problemMissing:
		return &missingError{p.Missing}
	case problemEmpty:
		return &toldError{p.Detail, scheduler.ErrEmpty}
	}
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &DeniedError{p.Detail}
	case http.StatusNotFound:
		return &toldError{p.Detail, store.ErrNotFound}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return &scheduler.RefusedError{Message: p.Detail, Hint: p.Hint}
	}
	return &toldError{detail: p.Detail}
}

func (p Problem) write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
