package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/evalfarm/evalfarm/pkg/redact"
)

// maxAnswer bounds the body of an answer in bytes. The longest that models give
// today have a few megabytes.
const maxAnswer = 32 << 20

// An Exchange is one HTTP request of an adapter and what came back. It stands
// between the adapter's SDK and the network, so that the answer is known byte
// for byte, whatever the SDK makes of it.
type Exchange struct {
	// Status, Header and Body of the answer; 0 and nil as long as there is none.
	Status int
	Header http.Header
	Body   []byte

	endpoint Endpoint
	trial    Trial
	begun    bool
	cut      error
	sent     atomic.Bool
	redactor *redact.Redactor
}

// NewExchange prepares one call of an endpoint for a trial.
func NewExchange(e Endpoint, t Trial) *Exchange {
	return &Exchange{endpoint: e, trial: t, redactor: e.secrets()}
}

// Do sends a request through next and reads the whole answer. It has the form of
// a middleware of the SDKs.
func (x *Exchange) Do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	x.begun = true
	for name, value := range x.endpoint.Headers {
		req.Header.Set(name, value)
	}
	if x.endpoint.Identify {
		maps.Copy(req.Header, x.trial.Header())
	}
	// Before its header is out, no request has reached anybody.
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }}
	res, err := next(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, err
	}
	body := res.Body
	defer func() { _ = body.Close() }()
	x.Status, x.Header = res.StatusCode, res.Header
	x.Body, x.cut = io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if x.cut == nil && len(x.Body) > maxAnswer {
		x.cut = fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	}
	if x.cut != nil {
		return nil, x.cut
	}
	res.Body = http.NoBody // what it said is in x
	return res, nil
}

// Failure says why the exchange brought no answer of a model, or nil when it
// did. ctx is that of the caller, without the timeout of the call; err is what
// the SDK returned.
func (x *Exchange) Failure(ctx context.Context, err error) error {
	switch {
	case err == nil && x.Status/100 == 2:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !x.begun:
		return x.clean(&Error{Kind: BadRequest, Message: "the request cannot be written", Err: err})
	case errors.Is(err, context.DeadlineExceeded):
		return x.lost(fmt.Errorf("no answer within %s", x.endpoint.CallTimeout()))
	case x.Status == 0:
		return x.lost(err)
	case x.cut != nil:
		return x.lost(fmt.Errorf("the answer was cut: %w", x.cut))
	default:
		return x.told()
	}
}

// Refuse is the error for an answer with a status of success that is no answer
// of a model: err says why. An error object in the body says it better.
func (x *Exchange) Refuse(err error) error {
	e := x.told()
	if e.Message == "" && e.Code == "" {
		e.Message, e.Err = "the answer makes no sense", err
	}
	return x.clean(e)
}

// told is the error that the answer tells, without secrets: they go before
// anything is cut short, so that no part of one stays.
func (x *Exchange) told() *Error {
	return Classify(x.Status, x.Header, x.redactor.JSON(x.Body), time.Now())
}

// lost is the error for an answer that did not arrive.
func (x *Exchange) lost(err error) *Error {
	return x.clean(&Error{Kind: Network, Status: x.Status, Sent: x.sent.Load(), Err: err})
}

// clean takes the endpoint's secrets out of what caused an error: the texts of
// transports and decoders quote what servers send, and servers send them back.
func (x *Exchange) clean(e *Error) *Error {
	if e.Err != nil {
		if text := e.Err.Error(); x.redactor.String(text) != text {
			e.Err = errors.New(x.redactor.String(text))
		}
	}
	return e
}
