package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

type eventPage struct {
	Events []eval.Event `json:"events"`
}

const (
	// eventsEvery is how often a stream looks for more.
	eventsEvery = 500 * time.Millisecond
	// eventsAlive is after how long a silent stream says that it is alive: proxies
	// cut those that say nothing.
	eventsAlive = 15 * time.Second
)

// events gives a page of what happened to a run after a sequence number, or, as
// text/event-stream, all of it as it comes until the run is done.
func (a *api) events(w http.ResponseWriter, r *http.Request) {
	run, err := a.find(r.Context(), r.PathValue("id"))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	after, _, err := number(r, "after")
	if last := r.Header.Get("Last-Event-ID"); err == nil && last != "" {
		if after, err = strconv.Atoi(last); err != nil {
			err = malformed("Last-Event-ID %.40q is no number", last)
		}
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if accepts(r, "text/event-stream") {
		a.stream(w, r, run, int64(after))
		return
	}
	size, err := limit(r, pageSize, maxPage)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	es, err := a.Store.Events(r.Context(), run.ID, int64(after), size)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if es == nil {
		es = []eval.Event{}
	}
	reply(w, http.StatusOK, eventPage{es})
}

// stream sends events as they come, in the format of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func (a *api) stream(w http.ResponseWriter, r *http.Request, run eval.Run, after int64) {
	ctx := r.Context()
	begun := false
	begin := func() {
		if !begun {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusOK)
			begun = true
		}
	}
	said := time.Now()
	ticker := time.NewTicker(eventsEvery)
	defer ticker.Stop()
	for {
		// First the run: what is told when it is done is all.
		now, err := a.Store.Run(ctx, run.ID)
		if err == nil {
			var sent int64
			if sent, err = a.send(ctx, w, begin, run.ID, after); sent > after {
				after, said = sent, time.Now()
			}
		}
		switch {
		case err != nil && !begun:
			a.fail(w, r, err)
			return
		case err != nil:
			return // the client asks again from where it is
		case now.State == eval.RunDone && !begun:
			// There is nothing more: a browser that is told so does not ask again.
			w.WriteHeader(http.StatusNoContent)
			return
		case now.State == eval.RunDone:
			return
		}
		begin()
		if time.Since(said) > eventsAlive {
			fmt.Fprint(w, ": alive\n\n")
			said = time.Now()
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// send sends what there is after a number, and says how far it came.
func (a *api) send(ctx context.Context, w http.ResponseWriter, begin func(), run string, after int64) (int64, error) {
	for {
		es, err := a.Store.Events(ctx, run, after, maxPage)
		if err != nil {
			return after, err
		}
		for _, e := range es {
			begin()
			data, err := json.Marshal(e)
			if err != nil {
				return after, err
			}
			if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, data); err != nil {
				return after, err
			}
			after = e.Seq
		}
		if len(es) < maxPage {
			return after, nil
		}
	}
}
