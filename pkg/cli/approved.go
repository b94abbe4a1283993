package cli

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/waiver"
)

// approved are the waivers of a suite, which the gate of its run applies. One that
// nobody has approved is a mistake in the suite, with its place.
func (c *command) approved(loaded *suite.Loaded, by waiver.Authority) ([]eval.Waiver, error) {
	if loaded.Waivers == nil {
		return nil, nil
	}
	now := time.Now()
	ws, problems := loaded.Waivers.Approve(by, now)
	if len(problems) > 0 {
		return nil, &suite.ProblemsError{Problems: problems}
	}
	for _, w := range loaded.Waivers.Waivers {
		if !now.Before(w.Expires) {
			p := w.Problem(fmt.Sprintf("waiver %d has expired on %s and is not applied", w.N, w.Expires.Format(time.DateOnly)), "take it out")
			p.Warning = true
			c.problems([]strictyaml.Problem{p})
		}
	}
	return ws, nil
}

// authority of a suite on this machine: its signers, and its branch as git has it here.
func authority(ctx context.Context, loaded *suite.Loaded) waiver.Authority {
	by := waiver.Authority{Signers: loaded.Signers}
	if name := loaded.Suite.Gate.ProtectedBranch; name != "" && loaded.Waivers != nil {
		by.Branch, by.Missing = protected(ctx, loaded.WaiverPath, name)
	}
	return by
}

// authorityThere is that of a suite that is sent to a farm: signers alone, since no
// branch comes with it.
func authorityThere(loaded *suite.Loaded) waiver.Authority {
	by := waiver.Authority{Signers: loaded.Signers}
	if loaded.Suite.Gate.ProtectedBranch != "" {
		by.Missing = "a farm to which a suite is sent sees no branch of it"
	}
	return by
}

// protected asks git for a file as it is on a branch: that of origin, which nobody
// changes here, else the one of this clone. It is nil, and said why, if there is none.
func protected(ctx context.Context, file, name string) (*waiver.Branch, string) {
	dir, base := filepath.Split(file)
	git := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		return string(out), err == nil
	}
	ref := ""
	// In full, so that a tag of the same name is not taken for it.
	for _, full := range []string{"refs/remotes/origin/" + name, "refs/heads/" + name} {
		if _, ok := git("rev-parse", "--verify", "--quiet", full+"^{commit}"); ok {
			ref = full
			break
		}
	}
	if ref == "" {
		return nil, fmt.Sprintf("git has no branch %s here, of origin or its own", name)
	}
	branch := &waiver.Branch{Name: name, File: &waiver.File{}}
	text, ok := git("show", ref+":./"+base)
	if !ok {
		return branch, ""
	}
	there, _ := waiver.Parse(file, []byte(text))
	if there == nil {
		return nil, fmt.Sprintf("the file on branch %s cannot be read", name)
	}
	branch.File = there
	touched, _ := git("log", "-1", "--format=%h%x00%an <%ae>", ref, "--", "./"+base)
	if branch.Commit, branch.Author, ok = strings.Cut(strings.TrimSpace(touched), "\x00"); !ok {
		return nil, fmt.Sprintf("git does not say who touched the file on branch %s", name)
	}
	return branch, ""
}
