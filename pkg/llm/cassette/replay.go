package cassette

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Replay makes a model that answers with what is recorded in a folder. Redact
// is as for [Record]: where the secrets are known, requests that hold them are
// found too. It never asks anybody: a call that was not recorded, or whose file
// cannot be read, is an [*llm.Error] of kind [llm.ReplayMiss], which names the
// file and what is different in the recording that comes nearest.
func Replay(dir string, redact func(string) string) llm.Model {
	return player{dir, redactor(redact)}
}

type player struct {
	dir    string
	redact func(string) string
}

// Generate implements [llm.Model].
func (p player) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	want := newRequest(req, p.redact)
	key := want.key()
	name := want.file(key)
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return llm.Response{}, p.miss(name, "", err)
	}
	defer root.Close()
	rec, err := read(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return llm.Response{}, p.miss(name, nearest(root, want), nil)
	case err != nil:
		return llm.Response{}, p.miss(name, "", err)
	case rec.Key != key:
		return llm.Response{}, p.miss(name, "the file has the key of another call", nil)
	case rec.Error != nil:
		return llm.Response{}, rec.Error.error()
	}
	return rec.Response.response(), nil
}

func (p player) miss(name, hint string, err error) *llm.Error {
	text := "no recording " + filepath.Join(p.dir, filepath.FromSlash(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		text = "cannot read the recording " + filepath.Join(p.dir, filepath.FromSlash(name))
	}
	if hint != "" {
		text += "; " + hint
	}
	return &llm.Error{Kind: llm.ReplayMiss, Message: text, Err: err}
}
