package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

const (
	// keyHeader names what makes a request that is sent again the same one.
	keyHeader = "Idempotency-Key"
	// callerHeader is that of the W3C trace context.
	callerHeader = "traceparent"
)

func (a *api) createRun(w http.ResponseWriter, r *http.Request) {
	var o Order
	if err := decode(w, r, &o); err != nil {
		a.fail(w, r, err)
		return
	}
	o.Key, o.Traceparent = r.Header.Get(keyHeader), telemetry.Caller(r.Header.Get(callerHeader)) //nolint:contextcheck // the library reads a header into one of its own
	run, err := a.create(r, o)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Location", RunsPath+"/"+run.ID)
	reply(w, http.StatusAccepted, run)
}

func (a *api) create(r *http.Request, o Order) (eval.Run, error) {
	ctx := r.Context()
	if a.Create == nil {
		return eval.Run{}, &scheduler.RefusedError{Message: "this scheduler carries out the runs that it was started with and takes no others", Hint: "evalfarm scheduler without suites takes them"}
	}
	if err := o.check(); err != nil {
		return eval.Run{}, err
	}
	if bound := tenant(ctx); bound != "" {
		if o.Tenant != "" && o.Tenant != bound {
			return eval.Run{}, &Problem{Status: http.StatusForbidden, Detail: fmt.Sprintf("the token is for tenant %s", bound)}
		}
		o.Tenant = bound
	}
	dir, err := os.MkdirTemp("", "evalfarm-suite-")
	if err != nil {
		return eval.Run{}, fmt.Errorf("unpack a suite: %w", err)
	}
	defer os.RemoveAll(dir)
	select {
	case a.creating <- struct{}{}:
		defer func() { <-a.creating }()
	case <-ctx.Done():
		return eval.Run{}, ctx.Err()
	}
	d, err := deliver(ctx, a.Store, o, dir)
	if err != nil {
		return eval.Run{}, err
	}
	d.Bound = tenant(ctx)
	return a.Create(ctx, d)
}

// decode reads the one JSON document of a request.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, after := dec.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("there is something after the document")
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge("the request has more than %d bytes", maxOrder)
	}
	if err != nil {
		return malformed("the request is no document that this takes: %s", err)
	}
	return nil
}
