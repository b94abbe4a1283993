package cassette

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Record makes a model whose answers and errors are kept in a folder, which is
// made when it is not there. Redact takes secrets out of a text; nil leaves it as
// it is. What is returned is what the model said, secrets and all.
//
// An answer replaces what was recorded of the same call before; an error does
// not replace an answer, because a trial that failed is tried again. An error of
// the context is not recorded. To record the end of several tries, and not each
// of them, m is to be the one that tries again.
//
// Generate returns an error that is no [*llm.Error] when the answer is there and
// cannot be written.
func Record(m llm.Model, dir string, redact func(string) string) llm.Model {
	return recorder{m, dir, redactor(redact)}
}

type recorder struct {
	model  llm.Model
	dir    string
	redact func(string) string
}

// Generate implements [llm.Model].
func (r recorder) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	answer, err := r.model.Generate(ctx, req)
	rec := recording{Request: newRequest(req, r.redact)}
	if err == nil {
		rec.Response = newResponse(answer, r.redact)
	} else {
		failed, ok := errors.AsType[*llm.Error](err)
		if !ok || ctx.Err() != nil || failed.Ours() {
			return answer, err
		}
		rec.Error = newFailure(failed, r.redact)
	}
	if failed := r.keep(rec); failed != nil {
		return llm.Response{}, errors.Join(err, fmt.Errorf("record a model call: %w", failed))
	}
	return answer, err
}

func (r recorder) keep(rec recording) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil { //nolint:gosec // a folder of the project, for everybody who works on it
		return err
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	rec.Key = rec.Request.key()
	name := rec.Request.file(rec.Key)
	if rec.Error != nil {
		if before, err := read(root, name); err == nil && before.Response != nil {
			return nil
		}
	}
	return write(root, name, rec)
}

func redactor(redact func(string) string) func(string) string {
	if redact == nil {
		return func(s string) string { return s }
	}
	return redact
}
