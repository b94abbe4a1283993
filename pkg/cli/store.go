package cli

import (
	"context"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// storeURL names the store, if it is not the file in the state folder. The
// password in an environment variable is seen by fewer than one in an argument.
func (c *command) storeURL() string {
	if url, ok := c.env.Lookup("EVALFARM_STORE"); c.store == "" && ok {
		return url
	}
	return c.store
}

// withStore opens the store for the length of a function.
func (c *command) withStore(ctx context.Context, fn func(store.Store) error) error {
	conf := c.config()
	if url := conf.Store; url != "" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return usage("", "--store, or $EVALFARM_STORE, wants postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	s, err := conf.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return fn(s)
}

// again is what a command that goes on with a run needs beside its arguments. The
// URL may hold a password and is not shown.
func (c *command) again() string {
	if c.store == "" {
		return ""
	}
	return "--store URL "
}
