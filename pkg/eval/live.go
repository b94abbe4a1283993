package eval

import "time"

// Live is what a run is doing right now, and what it waits for.
type Live struct {
	At time.Time `json:"at"`
	// Running are attempts that workers hold, the oldest first, at most a few
	// hundred of them.
	Running []Activity `json:"running,omitempty"`
	// Lacking is what trials of the run require, and no living worker has: they wait
	// for one.
	Lacking []string `json:"lacking,omitempty"`
	// NoWorker says that trials wait in the queue, and that no living worker takes any.
	NoWorker bool `json:"no_worker,omitempty"`
	// Quota is the trials that the run's tenant may have out at once, while that keeps
	// the run from beginning more; 0 when it does not.
	Quota int `json:"quota,omitempty"`
	// Limits of the keys that the run's models are called with.
	Limits []LimitState `json:"limits,omitempty"`
	// HeldElsewhereMicroUSD is what other runs hold of the day's money while the run
	// begins nothing more because of that; 0 when it does not wait for it.
	HeldElsewhereMicroUSD int64 `json:"held_elsewhere_microusd,omitempty"`
}

// An Activity is what one attempt is doing.
type Activity struct {
	Run     string `json:"run"`
	Ordinal int    `json:"ordinal"`
	Case    string `json:"case,omitempty"`
	Variant string `json:"variant,omitempty"`
	Repeat  int    `json:"repeat,omitempty"`
	Worker  string `json:"worker,omitempty"`
	// Doing it since a time.
	Doing Doing     `json:"doing"`
	Since time.Time `json:"since"`
	// On is what it waits for or works with: a limiter's key, a server, a tool.
	On string `json:"on,omitempty"`
	// Why it waits for a limiter's place, Until when at least, if that is known, and
	// how many callers of its process wait Before it.
	Why    string    `json:"why,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Before int       `json:"before,omitempty"`
}

// Doing is a kind of activity.
type Doing string

const (
	DoingStart   Doing = "server_start"
	DoingModel   Doing = "model"
	DoingTool    Doing = "tool"
	DoingLimiter Doing = "limiter" // it waits for a place
	DoingBackoff Doing = "backoff" // the provider is overloaded, or did not answer
	DoingScore   Doing = "score"
	DoingJudge   Doing = "judge"
)

// A LimitState is how one key of the limiter stands.
type LimitState struct {
	// Key is the provider's account and the model, without secrets.
	Key string `json:"key"`
	// InFlight calls of at most Concurrent; 0 is no bound.
	InFlight   int `json:"in_flight"`
	Concurrent int `json:"concurrent,omitempty"`
	// RequestsPerMinute in force, 0 for no bound. Adaptive when it, or Concurrent, was
	// found out.
	RequestsPerMinute float64 `json:"requests_per_minute,omitempty"`
	Adaptive          bool    `json:"adaptive,omitempty"`
	// Waiting callers of all processes.
	Waiting     int       `json:"waiting"`
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Calls that were let through, and answers with status 429.
	Calls       int64 `json:"calls"`
	RateLimited int64 `json:"rate_limited"`
	// History of what was found out, the latest last.
	History []LimitChange `json:"history,omitempty"`
}

// A LimitChange is one step of an adaptive limit.
type LimitChange struct {
	At         time.Time `json:"at"`
	Concurrent int       `json:"concurrent,omitempty"`
	// RequestsPerMinute; 0 is no bound.
	RequestsPerMinute float64 `json:"requests_per_minute,omitempty"`
	// Why: grow, rate_limited, or told (by the provider's headers).
	Why string `json:"why"`
}
