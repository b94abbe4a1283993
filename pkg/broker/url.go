package broker

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// An address is a parsed URL: it makes clients, and has a name that may be
// shown.
type address struct {
	show    string
	secrets []string
	// open makes a client. One that probes gives up at the first failure.
	open func(probe bool) redis.UniversalClient
}

func openURL(ctx context.Context, o Options) (*Broker, error) {
	a, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	info, err := a.reach(ctx, o.Tries)
	if err != nil {
		return nil, err
	}
	warning, err := info.check()
	if err != nil {
		return nil, fmt.Errorf("redis at %s cannot be used: %w", a.show, err)
	}
	if warning != "" {
		o.Logger.WarnContext(ctx, "redis may misbehave", "redis", a.show, "why", warning)
	}
	return &Broker{
		client:   a.open(false),
		describe: fmt.Sprintf("%s at %s", info, a.show),
		run:      wait,
		close:    func() error { return nil },
	}, nil
}

// CheckURL says what is wrong with the URL of a Redis. It asks nobody.
func CheckURL(raw string) error {
	_, err := parse(raw)
	return err
}

// parse reads a Redis URL. Its errors never quote the URL, which may hold a
// password.
func parse(raw string) (address, error) {
	const shape = "want redis://[user:password@]host:port[/db], rediss://… for TLS or unix:///path; " +
		"special characters in the user and password are percent-encoded"
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return address{}, errors.New("the redis URL cannot be read: " + shape)
	}
	a := address{show: u.Host}
	if u.Scheme == "unix" {
		a.show = u.Path
	}
	if pw, ok := u.User.Password(); ok {
		a.secrets = append(a.secrets, pw, url.QueryEscape(pw), url.PathEscape(pw))
	}
	unread := func(err error) error {
		// A password that is not percent-encoded may be in what go-redis says.
		if u.User == nil && strings.Contains(raw, "@") {
			return errors.New("the redis URL cannot be read: " + shape)
		}
		return a.wrap("read the redis URL", err)
	}
	query := u.Query()
	a.secrets = append(a.secrets, query["password"]...)
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return address{}, fmt.Errorf("the redis URL has the unknown scheme %q: %s", u.Scheme, shape)
	case query.Has("master_name"):
		fo, err := redis.ParseFailoverURL(raw)
		if err != nil {
			return address{}, unread(err)
		}
		fo.PoolSize = max(fo.PoolSize, poolSize)
		fo.ContextTimeoutEnabled = true
		fo.ReadTimeout = cmp.Or(fo.ReadTimeout, readTimeout)
		a.show = fmt.Sprintf("%s (sentinel, master %s)", u.Host, query.Get("master_name"))
		a.open = func(probe bool) redis.UniversalClient {
			c := *fo
			c.TLSConfig = clone(fo.TLSConfig)
			if probe {
				c.MaxRetries, c.DialerRetries, c.DialTimeout = -1, 1, probeTimeout
			}
			return redis.NewFailoverClient(&c)
		}
	case query.Has("addr"):
		co, err := redis.ParseClusterURL(raw)
		if err != nil {
			return address{}, unread(err)
		}
		co.PoolSize = max(co.PoolSize, poolSize)
		co.ContextTimeoutEnabled = true
		co.ReadTimeout = cmp.Or(co.ReadTimeout, readTimeout)
		co.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		a.show = strings.Join(co.Addrs, ",") + " (cluster)"
		a.open = func(probe bool) redis.UniversalClient {
			c := *co
			c.TLSConfig = clone(co.TLSConfig)
			if probe {
				c.MaxRetries, c.DialerRetries, c.DialTimeout = -1, 1, probeTimeout
			}
			return redis.NewClusterClient(&c)
		}
	default:
		so, err := redis.ParseURL(raw)
		if err != nil {
			return address{}, unread(err)
		}
		a.show = so.Addr
		so.PoolSize = max(so.PoolSize, poolSize)
		so.ContextTimeoutEnabled = true
		so.ReadTimeout = cmp.Or(so.ReadTimeout, readTimeout)
		so.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		a.open = func(probe bool) redis.UniversalClient {
			c := *so
			c.TLSConfig = clone(so.TLSConfig)
			if probe {
				c.MaxRetries, c.DialerRetries, c.DialTimeout = -1, 1, probeTimeout
			}
			return redis.NewClient(&c)
		}
	}
	return a, nil
}

func clone(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	return c.Clone()
}

// readTimeout is how long an answer may take. A command is sent four times, so a
// server that hangs is given up after a quarter of a claim's lease.
const readTimeout = 3 * time.Second

// probeTimeout is long for a handshake, and short enough that a wrong address
// is told before a person gives up: five tries end within half a minute.
const probeTimeout = 3 * time.Second

// reach asks the server who it is until it answers, with growing pauses, at
// most tries times.
func (a address) reach(ctx context.Context, tries int) (info, error) {
	client := a.open(true)
	defer func() { _ = client.Close() }()
	start := time.Now()
	pause := 100 * time.Millisecond
	for n := 1; ; n++ {
		once, cancel := context.WithTimeout(ctx, probeTimeout)
		text, err := client.Info(once).Result()
		cancel()
		if err == nil {
			return parseInfo(text), nil
		}
		if redis.IsAuthError(err) {
			return info{}, a.wrap(fmt.Sprintf("redis at %s refused the login", a.show), err)
		}
		if redis.IsPermissionError(err) {
			// It is up, and does not tell us more.
			return info{}, nil
		}
		if n == tries || ctx.Err() != nil {
			return info{}, a.wrap(fmt.Sprintf("cannot reach redis at %s after %d %s in %s; nothing was enqueued",
				a.show, n, plural(n, "try", "tries"), time.Since(start).Round(100*time.Millisecond)), err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// wrap says what failed, and cuts secrets out of the reason.
func (a address) wrap(what string, err error) error {
	msg := err.Error()
	for _, s := range a.secrets {
		if s != "" && strings.Contains(msg, s) {
			// The cause cannot be wrapped, it would tell.
			return fmt.Errorf("%s: %s", what, strings.ReplaceAll(msg, s, "***"))
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}
