package broker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// An Examination is what a Redis says of itself, and what that means for a queue.
type Examination struct {
	// Server is its product and version, and where it is, without any password.
	Server string
	// Problem keeps the queue from using it; empty for none.
	Problem string
	// Warning is what may go wrong with it; empty for nothing.
	Warning string
	// Policy is its maxmemory-policy; empty if it does not say.
	Policy string
	// AppendOnly says that it keeps an append-only file, and that the last write to
	// it went well. It does not say so if Untold.
	AppendOnly bool
	// Untold says that it does not tell how it keeps its data.
	Untold bool
	// Ahead is how far the clock that was given is ahead of the server's. It is exact
	// to half a RoundTrip.
	Ahead     time.Duration
	RoundTrip time.Duration
}

// Examine asks the Redis at a URL once who it is and what time it has, beside what
// now says. The error says that it cannot be reached, or that it refused the login.
func Examine(ctx context.Context, url string, now func() time.Time) (Examination, error) {
	redis.SetLogger(logBridge{slog.New(slog.DiscardHandler)}) // what it has to say is in the error
	a, err := parse(url)
	if err != nil {
		return Examination{}, err
	}
	in, err := a.reach(ctx, 1)
	if err != nil {
		return Examination{}, err
	}
	e := Examination{
		Server: fmt.Sprintf("%s at %s", in, a.show), Policy: in.policy,
		AppendOnly: in.appendOnly == "1" && in.appendStatus != "err", Untold: in.appendOnly == "",
	}
	warning, err := in.check()
	e.Warning = warning
	switch {
	case err != nil:
		e.Problem = err.Error()
	case in.role == "slave":
		e.Problem = "it is a replica, which takes no writes"
	}
	client := a.open(true)
	defer func() { _ = client.Close() }()
	before, began := now(), time.Now()
	theirs, err := client.Time(ctx).Result()
	if err != nil {
		return e, a.wrap(fmt.Sprintf("ask redis at %s for its time", a.show), err)
	}
	e.RoundTrip = time.Since(began)
	e.Ahead = before.Add(e.RoundTrip / 2).Sub(theirs)
	return e, nil
}

// Program is the path of the server that [Spawn] would start.
func Program() (string, error) { return lookProgram() }
