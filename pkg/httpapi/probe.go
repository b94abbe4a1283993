package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Where a process says how it fares, by the custom of orchestrators.
const (
	HealthPath  = "/healthz"
	ReadyPath   = "/readyz"
	MetricsPath = "/metrics"
)

// probeTimeout bounds one look at what a process needs.
const probeTimeout = 5 * time.Second

// A Probe says how a process fares, to anybody who asks. Nil functions say that all
// is well. What they return is shown, so it must be fit for strangers.
type Probe struct {
	// Live is an error when only a restart can help.
	Live func(context.Context) error
	// Ready is an error while the process cannot be given work.
	Ready func(context.Context) error
	// Metrics shows what is measured. Nil shows nothing.
	Metrics http.Handler
}

// Over answers GET /healthz and GET /readyz with 200 or 503, GET /metrics if there are
// any, and leaves all else to next.
func (p Probe) Over(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	p.on(mux)
	mux.Handle("/", next)
	return mux
}

func (p Probe) on(mux *http.ServeMux) {
	mux.Handle("GET "+HealthPath, answer(p.Live))
	mux.Handle("GET "+ReadyPath, answer(p.Ready))
	if p.Metrics != nil {
		mux.Handle("GET "+MetricsPath, p.Metrics)
	}
}

func answer(probe func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		says := "ok"
		code := http.StatusOK
		if probe != nil {
			if err := probe(ctx); err != nil {
				says, code = err.Error(), http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, says+"\n")
	}
}
