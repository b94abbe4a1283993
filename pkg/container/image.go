package container

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// An Image is one that the engine has.
type Image struct {
	// ID is the engine's own name of it.
	ID string
	// Digest is "sha256:…", that of its registry or else of the engine.
	Digest string
}

// A lookup is what a run was told of an image. It is held while it is looked for,
// so that trials which start together fetch it once.
type lookup struct {
	held  chan struct{}
	run   string
	image Image
}

// Image finds the image of a reference, and fetches it as pull says. A run is
// given the same image until Forget, so that all its trials on this worker are of
// one, whatever becomes of the tag. The error is an *Error or that of ctx.
func (e *Engine) Image(ctx context.Context, run, ref string, pull eval.Pull) (Image, error) {
	e.mu.Lock()
	l := e.known[ref]
	if l == nil {
		l = &lookup{held: make(chan struct{}, 1)}
		e.known[ref] = l
	}
	e.mu.Unlock()
	select {
	case l.held <- struct{}{}:
		defer func() { <-l.held }()
	case <-ctx.Done():
		return Image{}, context.Cause(ctx)
	}
	if l.run == run && l.image.ID != "" {
		return l.image, nil
	}
	if pull == eval.PullAlways {
		if err := e.pull(ctx, ref); err != nil {
			return Image{}, err
		}
	}
	image, err := e.inspectImage(ctx, ref)
	if err == nil && image.ID == "" && pull == eval.PullNever {
		err = &Error{Detail: fmt.Sprintf("the image %s is not on this machine, and pull is never", ref)}
	}
	if err == nil && image.ID == "" {
		if err = e.pull(ctx, ref); err == nil {
			image, err = e.inspectImage(ctx, ref)
		}
	}
	if err == nil && image.ID == "" {
		err = &Error{Detail: fmt.Sprintf("the image %s was fetched and cannot be found", ref)}
	}
	if err != nil {
		return Image{}, err
	}
	l.run, l.image = run, image
	return image, nil
}

// Forget makes the next start look for an image again.
func (e *Engine) Forget(ref string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, ref)
}

func (e *Engine) pull(ctx context.Context, ref string) error {
	if _, err := e.ask(ctx, pullTime, "pull", "--quiet", ref); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if refused.MatchString(err.Error()) {
			return engineError("pull image "+ref, err, false)
		}
		return engineError("pull image "+ref, err, true)
	}
	return nil
}

// refused matches what engines say when a registry answered that it has no such
// image, or not for us.
var refused = regexp.MustCompile(`(?i)not found|manifest unknown|name unknown|denied|unauthorized|invalid reference`)

// inspectImage looks for an image; without an ID there is none.
func (e *Engine) inspectImage(ctx context.Context, ref string) (Image, error) {
	said, err := e.ask(ctx, e.askTime(), "image", "inspect", ref)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return Image{}, context.Cause(ctx)
		case e.answers(ctx) != nil:
			return Image{}, engineError("the container engine does not answer", err, true)
		}
		return Image{}, nil // it answers, so it is the image that is missing
	}
	var images []struct {
		ID          string `json:"Id"`
		RepoDigests []string
	}
	if err := json.Unmarshal(said, &images); err != nil || len(images) == 0 || images[0].ID == "" {
		return Image{}, &Error{Detail: fmt.Sprintf("inspect image %s: the container engine's answer cannot be read", ref)}
	}
	id := images[0].ID
	return Image{ID: id, Digest: cmp.Or(digest(ref, images[0].RepoDigests), "sha256:"+strings.TrimPrefix(id, "sha256:"))}, nil
}

// digest picks the one that belongs to the reference among name@digest, since an
// image may be in several registries; without such a one the first.
func digest(ref string, digests []string) string {
	if _, pinned, ok := strings.Cut(ref, "@"); ok {
		return pinned
	}
	name := ref
	if colon := strings.LastIndexByte(ref, ':'); colon > strings.LastIndexByte(ref, '/') {
		name = ref[:colon]
	}
	first := ""
	for _, d := range digests {
		repository, sum, ok := strings.Cut(d, "@")
		if ok && strings.HasSuffix("/"+repository, "/"+name) {
			return sum
		}
		if ok {
			first = cmp.Or(first, sum)
		}
	}
	return first
}
