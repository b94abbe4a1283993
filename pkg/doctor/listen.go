package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
)

// listen looks at whether the scheduler's address is free, or has a scheduler.
func (o Options) listen(ctx context.Context) []Finding {
	if o.Listen == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err == nil {
		if err := l.Close(); err != nil {
			return []Finding{warning("listen", fmt.Sprintf("free %s: %s", o.Listen, err), "")}
		}
		return []Finding{ok("listen", o.Listen+" is free")}
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return []Finding{problem("listen", fmt.Sprintf("cannot listen on %s: %s", o.Listen, err), "set listen to an address of this machine, such as 0.0.0.0:8090")}
	}
	if farm, err := httpblob.New("http://"+reachable(o.Listen), o.Token.Value, o.HTTP).Farm(ctx); err == nil {
		return []Finding{ok("listen", fmt.Sprintf("a scheduler of evalfarm %s serves on %s", farm.Version, o.Listen))}
	}
	return []Finding{problem("listen", o.Listen+" is in use, by no scheduler of this token", "end what listens there, or set listen to another address")}
}

// reachable is an address under which what listens on every one can be called.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
