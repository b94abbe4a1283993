package stub

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// slowByte is the time between two bytes of a slow answer.
const slowByte = 100 * time.Millisecond

// errSpoiled is an answer that a fault has spoiled.
var errSpoiled = errors.New("the answer was spoiled on purpose")

// An output sends one answer, as fast as it should be and as whole as its fault
// leaves it.
type output struct {
	w     http.ResponseWriter
	ctx   context.Context //nolint:containedctx // lives as long as the one call that it is for
	fault FaultKind
}

// document sends a JSON document after the time that it takes to generate.
func (o output) document(v any, generation time.Duration) error {
	if err := sleep(o.ctx, generation); err != nil {
		return err
	}
	body := eval.Encode(v)
	length := len(body)
	if o.fault == FaultMalformed || o.fault == FaultCut {
		body = body[:length/2]
	}
	if o.fault == FaultMalformed {
		length = len(body)
	}
	o.w.Header().Set("Content-Type", "application/json")
	o.w.Header().Set("Content-Length", strconv.Itoa(length))
	o.w.WriteHeader(http.StatusOK)
	if err := o.write(body); err != nil {
		return err
	}
	return o.spoil()
}

// stream sends events, spread over the time that they take to generate.
func (o output) stream(events []event, generation time.Duration, broken event) error {
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.w.Header().Set("Cache-Control", "no-cache")
	o.w.WriteHeader(http.StatusOK)
	pause := generation / time.Duration(max(1, len(events)))
	half := len(events) / 2
	for i, e := range events {
		if o.fault == FaultStream && i == half {
			if err := o.event(broken); err != nil {
				return err
			}
			return errSpoiled
		}
		if o.fault == FaultCut && i == half {
			return o.spoil()
		}
		if o.fault == FaultMalformed {
			e.data = e.data[:len(e.data)/2]
		}
		if err := sleep(o.ctx, pause); err != nil {
			return err
		}
		if err := o.event(e); err != nil {
			return err
		}
	}
	return o.spoil()
}

// spoil ends an answer as its fault wants.
func (o output) spoil() error {
	switch o.fault {
	case FaultCut:
		// The server closes the connection without the end of the body.
		panic(http.ErrAbortHandler)
	case FaultMalformed:
		return errSpoiled
	default:
		return nil
	}
}

func (o output) event(e event) error {
	var b bytes.Buffer
	if e.name != "" {
		b.WriteString("event: " + e.name + "\n")
	}
	b.WriteString("data: ")
	b.Write(e.data)
	b.WriteString("\n\n")
	return o.write(b.Bytes())
}

// write sends bytes on their way at once, or one after the other.
func (o output) write(b []byte) error {
	step := len(b)
	if o.fault == FaultSlow {
		step = 1
	}
	for len(b) > 0 {
		if _, err := o.w.Write(b[:step]); err != nil {
			return err
		}
		if err := http.NewResponseController(o.w).Flush(); err != nil {
			return err
		}
		if b = b[step:]; o.fault == FaultSlow {
			if err := sleep(o.ctx, slowByte); err != nil {
				return err
			}
		}
	}
	return nil
}

// sleep waits, or returns the error of a context that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
