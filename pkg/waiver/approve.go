package waiver

import (
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// An Authority says who may approve.
type Authority struct {
	// Signers of the suite; nil: a signature approves nothing.
	Signers *Signers
	// Branch that is protected, as it holds the file; nil: there is none. Missing says
	// why a branch that is named could not be read.
	Branch  *Branch
	Missing string
}

// A Branch is a file of waivers on a branch on which nobody can put what others have
// not seen.
type Branch struct {
	Name string
	File *File
	// Commit that last touched the file there, and its author.
	Commit, Author string
}

// Approve says which waivers of a file hold at a time. Expired ones need no approval,
// since they are not applied. What nobody has approved is a problem at its place.
func (f *File) Approve(by Authority, at time.Time) ([]eval.Waiver, []strictyaml.Problem) {
	var out []eval.Waiver
	var problems []strictyaml.Problem
	for _, w := range f.Waivers {
		approved, problem := f.ApproveOne(w, by, at)
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		out = append(out, approved)
	}
	return out, problems
}

// ApproveOne says how a waiver of the file is approved, or why nobody has. One that
// has expired comes back as it is.
func (f *File) ApproveOne(w Waiver, by Authority, at time.Time) (eval.Waiver, *strictyaml.Problem) {
	out := w.Waiver
	if !at.Before(w.Expires) {
		return out, nil
	}
	refuse := func(pos strictyaml.Pos, why, hint string) (eval.Waiver, *strictyaml.Problem) {
		p := pos.Problem(fmt.Sprintf("waiver %d is not approved: %s", w.N, why), hint)
		return out, &p
	}
	if w.Signature != "" && by.Signers != nil {
		approval, err := by.Signers.Verify(w.Approver, Text(f.Suite, w.Waiver), w.Signature, at)
		if err != nil {
			return refuse(w.signature, err.Error(), fmt.Sprintf("evalfarm waivers text %d shows what is to be signed", w.N))
		}
		out.Approval = approval
		return out, nil
	}
	switch {
	case by.Branch != nil && by.Branch.File.Has(f.Suite, w.Waiver):
		out.Approver = by.Branch.Author
		out.Approval = fmt.Sprintf("on branch %s since %s", by.Branch.Name, by.Branch.Commit)
		return out, nil
	case by.Branch != nil:
		return refuse(w.at, "branch "+by.Branch.Name+" does not have it", "let it be merged there, or sign it: evalfarm waivers sign")
	case by.Missing != "":
		return refuse(w.at, by.Missing, "sign it: evalfarm waivers sign")
	case w.Signature != "":
		return refuse(w.signature, "it is signed, and the gate names no allowed_signers", "gate: {allowed_signers: FILE}")
	case by.Signers != nil:
		return refuse(w.at, "it has no signature", fmt.Sprintf("evalfarm waivers sign %d --key FILE", w.N))
	}
	return refuse(w.at, "nobody may approve it", "gate: {allowed_signers: FILE}, or {protected_branch: main}")
}
