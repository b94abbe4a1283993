package notify

import (
	"net/http"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// A failure says why a notice was not sent. An error that is none is one that
// another try may not meet.
type failure struct {
	message string
	// state is what becomes of the notice: it waits, or another try would find the
	// same and it has failed, or there is nothing to send.
	state store.NoticeState
	// after is how long the target asks us to wait.
	after time.Duration
}

func (f *failure) Error() string { return f.message }

func never(message string) error { return &failure{message: message, state: store.NoticeFailed} }

func skip(message string) error { return &failure{message: message, state: store.NoticeSkipped} }

// longest is how long a target can make us wait for one try.
const longest = 9 * time.Hour

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds, or a date. It
// is 0 where there is none that makes sense.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	seconds, err := strconv.ParseInt(value, 10, 32)
	wait := time.Duration(seconds) * time.Second
	if err != nil {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0
		}
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longest)
}
