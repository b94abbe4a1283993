package suite

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/container"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// containerKeys are the keys of a server that only one with an image has.
func containerKeys() []string {
	return []string{"mounts", "network", "memory", "cpus", "user", "pull"}
}

// container is the noun of how a server with an image runs. The sources of its mounts
// are as they are written.
func (f *endpointFile) container() eval.Container {
	out := eval.Container{
		Image: string(f.Image), Network: string(f.Network), Memory: string(f.Memory), CPUs: float64(f.CPUs),
		User: string(f.User), Pull: eval.Pull(f.Pull),
	}
	for _, m := range f.Mounts {
		out.Mounts = append(out.Mounts, eval.Mount{Source: m.Source, Target: string(m.Target), Writable: m.ReadOnly != nil && !*m.ReadOnly})
	}
	return out
}

// source is that of a mount, which counts from the file that holds it and may be
// anywhere.
func (b *build) source(f *mountFile) string {
	n := f.Node().Get("source")
	if n == nil || f.Source == "" {
		return f.Source
	}
	out, abs := f.Source, filepath.FromSlash(f.Source)
	if !filepath.IsAbs(abs) {
		o, ok := b.origins[n.File()]
		if !ok {
			return out
		}
		abs = filepath.Join(o.project.dir, filepath.FromSlash(path.Dir(o.name)), abs)
		if rel, err := filepath.Rel(b.loaded.Dir, abs); err == nil {
			out = filepath.ToSlash(rel)
		}
	}
	if b.opts.Grant == nil && !exists(abs) { // a stranger learns nothing of this machine
		b.report(n.Pos, "no such file or folder: "+strictyaml.Quote(f.Source), "a source is relative to the file that holds it")
	}
	return out
}

// inContainer finds what does not go together in a server with an image.
func (p *problems) inContainer(f *endpointFile) {
	at := f.Node()
	if f.Image == "" {
		for _, key := range containerKeys() {
			if at.Field(key) != nil {
				p.report(at.Place(key), key+" is for servers with an image", "")
			}
		}
		return
	}
	if !strings.Contains(string(f.Image), "@") && f.Revision == "" {
		p.warn(at.Get("image").Pos, "the image is named without its digest, so its content can change between runs",
			"write NAME@sha256:…, or say which revision it is")
	}
	if f.Network == "host" {
		p.report(at.Get("network").Pos, "a server in a container cannot have the network of its host", "there it would reach all that listens on this machine for itself; write bridge, or the name of a network")
	}
	p.reserved(at.Get("env"))
	targets := map[string]bool{}
	for i := range f.Mounts {
		m := &f.Mounts[i]
		source, target := m.Node().Get("source"), path.Clean(string(m.Target))
		if source != nil && (m.Source == "" || strings.ContainsAny(m.Source, ",\"\n\r")) {
			p.report(source.Pos, "a source is a path without commas, quotes and line breaks", "docker and podman would take it for more than a path")
		}
		if m.Target != "" && targets[target] {
			p.report(m.Node().Get("target").Pos, "two mounts at "+strictyaml.Quote(target), "")
		}
		targets[target] = true
	}
}

// reserved reports variables that a server in a container cannot be given.
func (p *problems) reserved(env *strictyaml.Node) {
	if env == nil {
		return
	}
	for _, field := range env.Fields {
		if container.Reserved(field.Key.Text) {
			p.report(field.Key.Pos, fmt.Sprintf("%s cannot be given to a server in a container", field.Key.Text), "the command of docker or podman reads it; set it in the image")
		}
	}
}
