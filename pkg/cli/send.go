package cli

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// send asks a farm for a run of a suite of this machine, which is sent with its files,
// and gives what then is to be done with the run.
func (c *command) send(ctx context.Context, arg string, load loading, sel selecting, ask ordering, then func(desk, eval.Run) error) error {
	load.asked = map[string]string{}
	loaded, err := c.load(arg, load) // what is wrong with it is said before anything is sent
	if err != nil {
		return err
	}
	if err := c.executable(loaded); err != nil {
		return err
	}
	if _, err := c.approved(loaded, authorityThere(loaded)); err != nil {
		return err
	}
	selection, err := sel.selection(loaded.Suite)
	if err != nil {
		return err
	}
	c.fewRepeats(&loaded.Suite, selection)
	if err := c.doubts(loaded, selection); err != nil {
		return err
	}
	budget, err := sel.ceiling.budget()
	if err != nil {
		return err
	}
	for _, name := range []string{ask.baseline, loaded.Suite.Gate.Baseline} {
		if _, file := eval.BaselineFile(name); file {
			return usage("name a baseline of the farm's store", "a suite that is sent over the API cannot compare with %s, a file", report.Line(name, 200))
		}
	}
	set, err := variables(load.set)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	p := pack(loaded, load, c.env)
	run, err := client.Create(ctx, httpapi.Order{
		Suite: p.suite, With: p.with, Gate: p.gate, Name: loaded.Path, Set: set, Env: load.asked,
		Cases: selection.Cases, Tags: selection.Tags, Axes: selection.Axes, Repeats: selection.Repeats,
		Seed: sel.seed, Attempts: sel.attempts, Budget: budget, Priority: ask.priority, Tenant: ask.tenant, Baseline: ask.baseline,
		Git: gitState(ctx, loaded.Dir), Key: ask.key, Traceparent: c.caller(), //nolint:contextcheck // the library reads a header into one of its own
	}, p.content)
	if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
		problems.Path = arg
		for i := range problems.Problems {
			problems.Problems[i].File = suite.Short(c.env.Dir, p.here(problems.Problems[i].File))
		}
		return problems
	}
	if err != nil {
		return c.denied(err)
	}
	return c.denied(then(there{client}, run))
}

// A parcel is a suite with its files, as they are sent.
type parcel struct {
	suite httpapi.Sources
	with  *httpapi.Sources
	gate  *httpapi.Sources
	// projects are the folders of suite, with and gate.
	projects [3]string
	contents map[string]eval.Blob
}

// pack makes a parcel of a loaded suite. The first part of a path is the name of the
// folder that no path of the suite leaves: a suite without a name is called after its
// folder.
func pack(loaded *suite.Loaded, load loading, env Env) parcel {
	p := parcel{contents: map[string]eval.Blob{}}
	sources := func(file string) (httpapi.Sources, string) {
		var of httpapi.Sources
		project := projectOf(loaded.Files, file)
		for _, f := range loaded.Files {
			if f.Project != project {
				continue
			}
			b := blob.Pack(f.Data)
			p.contents[b.SHA256] = b
			of.Files = append(of.Files, httpapi.SourceFile{Path: path.Join(rootName(project), f.Name), SHA256: b.SHA256})
		}
		if rel, err := filepath.Rel(project, file); err == nil {
			of.Path = path.Join(rootName(project), filepath.ToSlash(rel))
		}
		return of, project
	}
	p.suite, p.projects[0] = sources(filepath.Clean(loaded.Path))
	if load.with != "" {
		var with httpapi.Sources
		with, p.projects[1] = sources(env.abs(load.with))
		p.with = &with
	}
	if load.gate != "" {
		var gate httpapi.Sources
		gate, p.projects[2] = sources(env.abs(load.gate))
		p.gate = &gate
	}
	return p
}

// projectOf is the folder that no path of a file, or of the files in a folder, leaves.
func projectOf(files []suite.File, file string) string {
	for _, f := range files {
		if full := filepath.Join(f.Project, filepath.FromSlash(f.Name)); full == file || filepath.Dir(full) == file {
			return f.Project
		}
	}
	return filepath.Dir(file)
}

// rootName is the name of a folder; empty for the root of a file system.
func rootName(dir string) string {
	if name := filepath.Base(dir); name != string(filepath.Separator) {
		return name
	}
	return ""
}

// content of a file by its sha256.
func (p *parcel) content(sha256 string) (eval.Blob, bool) {
	b, ok := p.contents[sha256]
	return b, ok
}

// here is the path on this machine of a file that the farm names.
func (p *parcel) here(name string) string {
	for i, prefix := range []string{"suite/", "with/", "gate/"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if root := rootName(p.projects[i]); ok && root != "" {
			rest, ok = strings.CutPrefix(rest, root+"/")
		}
		if ok && p.projects[i] != "" {
			return filepath.Join(p.projects[i], filepath.FromSlash(rest))
		}
	}
	return name
}
